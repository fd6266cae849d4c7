/* y_i = scale[rows[i]] x[rows[i]]; see struct gather. */
#include "kernels/cuda/columns.cuh"

/* One thread a vector of WIDE columns. */
template <int WIDE> static __global__ void __launch_bounds__(BLOCK) gather_kernel(const struct gather op) {
  int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= op.y.rows) return;
  const int64_t row = op.rows[i];
  const float scale = op.scale ? ((const float *)op.scale)[row] : 1;
  for (int64_t j = threadIdx.x * WIDE; j < op.y.cols; j += blockDim.x * WIDE) {
    float v[WIDE];
    int n = (int)min((int64_t)WIDE, op.y.cols - j);
    load(row_of(op.x, row) + j, n, WIDE > 1, v);
#pragma unroll
    for (int u = 0; u < WIDE; u++) v[u] *= scale;
    store(row_of(op.y, i) + j, n, WIDE > 1, v);
  }
}

int cuda_gather(struct kernels *k, const struct gather *op) {
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  const bool wide = cuda_is_aligned(op->x) && cuda_is_aligned(op->y);
  unsigned lanes = 1;
  while (lanes < 32 && (int64_t)lanes * (wide ? 4 : 1) < op->y.cols) lanes *= 2;
  dim3 block(lanes, BLOCK / lanes);
  unsigned grid = blocks_of(op->y.rows, block.y);
  if (wide)
    gather_kernel<4><<<grid, block, 0, cuda_stream(k)>>>(*op);
  else
    gather_kernel<1><<<grid, block, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}
