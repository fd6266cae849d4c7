/* *out = sum of a_ij b_ij, in two stages: a fixed number of blocks leave a sum each. */
#include "kernels/cuda/common/totals.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int DOT_PARTS = 256;

/* `lanes` neighbouring threads share a row. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    dot_kernel(struct tensor a, struct tensor b, int lanes, bool aligned, double *partial) {
  pdl_launch_dependents();
  const int rows = BLOCK / lanes, lane = (int)threadIdx.x % lanes;
  double sum = 0;
  for (int64_t v = (int64_t)blockIdx.x * rows + threadIdx.x / lanes; v < a.rows; v += DOT_PARTS * rows) {
    for (int64_t first = lane * GROUP; first < a.cols; first += lanes * GROUP) {
      float x[GROUP], y[GROUP];
      int n = (int)min((int64_t)GROUP, a.cols - first);
      load(row_of<T>(a, v) + first, n, aligned, x);
      load(row_of<T>(b, v) + first, n, aligned, y);
#pragma unroll
      for (int j = 0; j < GROUP; j++) sum += j < n ? (double)x[j] * (double)y[j] : 0;
    }
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(BLOCK) add_dots_kernel(const double *partial, float *out) {
  pdl_prologue();
  double sum = sum_of_block((int)threadIdx.x < DOT_PARTS ? partial[threadIdx.x] : 0);
  if (threadIdx.x == 0) *out = (float)sum;
}

int cuda_dot(struct kernels *k, const struct dot *op) {
  static_assert(DOT_PARTS <= BLOCK, "one thread adds one part");
  double *partial = NULL;
  TRY(kernels_workspace(k, DOT_PARTS * (int64_t)sizeof *partial, (void **)&partial));
  auto *kernel = op->a.dtype == BF16 ? dot_kernel<bf16> : dot_kernel<float>;
  bool aligned = cuda_is_aligned(op->a) && cuda_is_aligned(op->b);
  kernel<<<DOT_PARTS, BLOCK, 0, cuda_stream(k)>>>(op->a, op->b, (int)lanes_of(op->a.cols), aligned, partial);
  TRY_LAUNCH();
  return pdl_launch(k, add_dots_kernel, 1, BLOCK, 0, partial, (float *)op->out);
}
