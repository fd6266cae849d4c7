/* y_i = scale[rows[i]] x[rows[i]]; see struct gather. */
#include "kernels/cuda/columns.cuh"

/* One thread a vector of WIDE columns. */
template <class T, int WIDE>
static __global__ void __launch_bounds__(BLOCK) gather_kernel(const struct gather op) {
  int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= op.y.rows) return;
  const int64_t row = op.rows[i];
  const float scale = op.scale ? ((const float *)op.scale)[row] : 1;
  for (int64_t j = threadIdx.x * WIDE; j < op.y.cols; j += blockDim.x * WIDE) {
    float v[WIDE];
    int n = (int)min((int64_t)WIDE, op.y.cols - j);
    load(row_of<T>(op.x, row) + j, n, WIDE > 1, v);
#pragma unroll
    for (int u = 0; u < WIDE; u++) v[u] *= scale;
    store(row_of<T>(op.y, i) + j, n, WIDE > 1, v);
  }
}

template <class T> static int launch(struct kernels *k, const struct gather *op) {
  constexpr int WIDE = 16 / sizeof(T);
  const bool wide = cuda_is_aligned(op->x) && cuda_is_aligned(op->y);
  unsigned lanes = 1;
  while (lanes < 32 && (int64_t)lanes * (wide ? WIDE : 1) < op->y.cols) lanes *= 2;
  dim3 block(lanes, BLOCK / lanes);
  auto *kernel = wide ? gather_kernel<T, WIDE> : gather_kernel<T, 1>;
  kernel<<<blocks_of(op->y.rows, block.y), block, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

int cuda_gather(struct kernels *k, const struct gather *op) {
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  return op->x.dtype == BF16 ? launch<bf16>(k, op) : launch<float>(k, op);
}
