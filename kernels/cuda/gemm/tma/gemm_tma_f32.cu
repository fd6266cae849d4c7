/* C = A B (+ A2 B2) of floats. */
#include "kernels/cuda/gemm/tma/gemm_tma_launch.cuh"

int cuda_gemm_tma_f32(struct kernels *k, const struct gemm *op, int *took) {
  return multiply_tma<float>(k, op, took);
}
