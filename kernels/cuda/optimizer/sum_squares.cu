/* scalars.squares = sum x_i^2; frozen when that is not finite. */
#include "kernels/cuda/common/totals.cuh"
#include "kernels/cuda/optimizer/optimizer_ops.h"

constexpr int SQUARES_PARTS = 256;

static __global__ void __launch_bounds__(BLOCK)
    squares_kernel(const float *x, int64_t count, double *partial) {
  pdl_prologue();
  double sum = 0;
  for (int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x; i < count; i += SQUARES_PARTS * BLOCK)
    sum += (double)x[i] * (double)x[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(BLOCK)
    add_squares_kernel(const double *partial, struct scalars *scalars) {
  pdl_prologue();
  double sum = sum_of_block((int)threadIdx.x < SQUARES_PARTS ? partial[threadIdx.x] : 0);
  if (threadIdx.x > 0) return;
  scalars->squares = sum;
  if (!isfinite(sum)) scalars->frozen = 1;
}

int cuda_sum_squares(struct kernels *k, const void *x, int64_t count) {
  static_assert(SQUARES_PARTS <= BLOCK, "one thread adds one part");
  double *partial = NULL;
  TRY(kernels_workspace(k, SQUARES_PARTS * (int64_t)sizeof *partial, (void **)&partial));
  TRY(pdl_launch(k, squares_kernel, SQUARES_PARTS, BLOCK, 0, (const float *)x, count, partial));
  return pdl_launch(k, add_squares_kernel, 1, BLOCK, 0, partial, k->scalars);
}
