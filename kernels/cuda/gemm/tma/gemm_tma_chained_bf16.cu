/* C = A B of bf16, and what is chained to it. */
#include "kernels/cuda/gemm/tma/gemm_tma_chained_launch.cuh"

int cuda_gemm_tma_bf16_chained(struct kernels *k, const struct gemm *op, int *took) {
  return multiply_chained<bf16>(k, op, took);
}
