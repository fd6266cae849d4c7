/* C = A B (+ A2 B2) of bf16. */
#include "kernels/cuda/gemm/tma/gemm_tma_launch.cuh"

int cuda_gemm_tma_bf16(struct kernels *k, const struct gemm *op, int *took) {
  return multiply_tma<bf16>(k, op, took);
}
