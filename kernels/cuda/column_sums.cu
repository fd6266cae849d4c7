/* out_j = sum_i x_ij, or sum_i (x_ij - center_j)^2. */
#include "kernels/cuda/partials.cuh"

template <class T>
static __global__ void __launch_bounds__(BLOCK)
    column_sums_kernel(struct tensor x, const float *center, int64_t part_rows, bool aligned,
                       double *partial) {
  __shared__ double shared[BLOCK];
  int64_t first = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * GROUP;
  int64_t begin = blockIdx.x * part_rows, end = min(begin + part_rows, x.rows);
  int n = (int)max((int64_t)0, min((int64_t)GROUP, x.cols - first));
  double sum[GROUP] = {0};
  for (int64_t v = begin + threadIdx.y; v < end && n > 0; v += blockDim.y) {
    float value[GROUP];
    load(row_of<T>(x, v) + first, n, aligned, value);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      float difference = value[j] - (center && j < n ? center[first + j] : 0);
      sum[j] += center ? (double)(difference * difference) : (double)value[j];
    }
  }
  reduce_rows(sum, shared, first, x.cols, partial + blockIdx.x * x.cols);
}

int cuda_column_sums(struct kernels *k, const struct column_sums *op) {
  struct tensor x = op->x;
  int64_t parts = parts_of(x.rows);
  double *partial = NULL;
  TRY(kernels_workspace(k, parts * x.cols * (int64_t)sizeof *partial, (void **)&partial));
  dim3 block = block_of(x.cols);
  if (parts > 0 && x.cols > 0) {
    dim3 grid((unsigned)parts, blocks_of(x.cols, (int64_t)block.x * GROUP));
    auto *kernel = x.dtype == BF16 ? column_sums_kernel<bf16> : column_sums_kernel<float>;
    kernel<<<grid, block, 0, cuda_stream(k)>>>(x, (const float *)op->center, rows_of_part(x.rows),
                                               cuda_is_aligned(x), partial);
    TRY_LAUNCH();
  }
  return cuda_add_partials(k, partial, parts, x.cols, (float *)op->out);
}
