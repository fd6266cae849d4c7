/* y_i = scale[rows[i]] x[rows[i]]; see struct gather. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int ROWS = 4; /* of a thread, under way together */

/* Rows i, i + blockDim.y, ... of y; -1 behind the last. */
static __device__ __forceinline__ void find_rows(const struct gather &op, int64_t i, int (&row)[ROWS],
                                                 float (&scale)[ROWS]) {
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int64_t at = i + r * blockDim.y;
    row[r] = at >= op.y.rows ? -1 : op.rows ? op.rows[at] : (int)at;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) scale[r] = op.scale && row[r] >= 0 ? ((const float *)op.scale)[row[r]] : 1;
}

/* One thread 16 bytes of some rows. */
template <class T>
static __global__ void __launch_bounds__(BLOCK, 5)
    gather_whole_kernel(const __grid_constant__ struct gather op) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const int64_t i = (int64_t)blockIdx.x * ROWS * blockDim.y + threadIdx.y;
  int row[ROWS];
  float scale[ROWS];
  find_rows(op, i, row, scale);
  for (int64_t j = threadIdx.x * WIDE; j < op.y.cols; j += blockDim.x * WIDE) {
    const int n = owns_gaps(op.y) ? WIDE : (int)min((int64_t)WIDE, op.y.cols - j);
    uint4 bytes[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      if (row[r] >= 0) bytes[r] = *(const uint4 *)place_of<T>(op.x, row[r], j);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float x[WIDE];
      if (row[r] < 0) continue;
      T *to = place_of<T>(op.y, i + r * blockDim.y, j);
      if (!op.scale && n == WIDE) {
        *(uint4 *)to = bytes[r];
        continue;
      }
      load((const T *)&bytes[r], WIDE, true, x);
#pragma unroll
      for (int u = 0; u < WIDE; u++) x[u] *= scale[r];
      store(to, n, true, x);
    }
  }
}

/* One thread a column of some rows. */
template <class T>
static __global__ void __launch_bounds__(BLOCK) gather_kernel(const __grid_constant__ struct gather op) {
  const int64_t i = (int64_t)blockIdx.x * ROWS * blockDim.y + threadIdx.y;
  int row[ROWS];
  float scale[ROWS];
  find_rows(op, i, row, scale);
  for (int64_t j = threadIdx.x; j < op.y.cols; j += blockDim.x) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      if (row[r] >= 0)
        *place_of<T>(op.y, i + r * blockDim.y, j) = (T)((float)*place_of<T>(op.x, row[r], j) * scale[r]);
    }
  }
}

template <class T> static int launch(struct kernels *k, const struct gather *op) {
  const bool wide = cuda_is_aligned(op->x) && cuda_is_aligned(op->y);
  unsigned lanes = 1;
  while (lanes < 32 && (int64_t)lanes * (wide ? 16 / (int)sizeof(T) : 1) < op->y.cols) lanes *= 2;
  const dim3 block(lanes, BLOCK / lanes);
  auto *kernel = wide ? gather_whole_kernel<T> : gather_kernel<T>;
  kernel<<<blocks_of(op->y.rows, (int64_t)block.y * ROWS), block, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

int cuda_gather(struct kernels *k, const struct gather *op) {
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  return op->x.dtype == BF16 ? launch<bf16>(k, op) : launch<float>(k, op);
}
