/* C = A B for a tall A of floats. */
#include "kernels/cuda/gemm/rows/gemm_rows_launch.cuh"

int cuda_gemm_rows_f32(struct kernels *k, const struct gemm *op) {
  return multiply_tall<float>(k, op);
}
