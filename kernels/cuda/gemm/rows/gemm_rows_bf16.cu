/* C = A B for a tall A of bf16. */
#include "kernels/cuda/gemm/rows/gemm_rows_launch.cuh"

int cuda_gemm_rows_bf16(struct kernels *k, const struct gemm *op) {
  return multiply_tall<bf16>(k, op);
}
