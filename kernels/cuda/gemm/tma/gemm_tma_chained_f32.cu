/* C = A B of floats, and what is chained to it. */
#include "kernels/cuda/gemm/tma/gemm_tma_chained_launch.cuh"

int cuda_gemm_tma_f32_chained(struct kernels *k, const struct gemm *op, int *took) {
  return multiply_chained<float>(k, op, took);
}
