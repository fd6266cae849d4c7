/* What the element-wise epilogue of a layer does to a thread's eight columns; see struct epilogue. */
#ifndef KERNELS_CUDA_ELEMENTWISE_EPILOGUE_ROW_CUH
#define KERNELS_CUDA_ELEMENTWISE_EPILOGUE_ROW_CUH

#include "kernels/cuda/common/walk.cuh"

/* Parameters of eight columns, by which xhat = (z - center) rstd and n = xhat gain + shift; layer norm takes
 * the row's mean from z - center first, and the row's rstd. */
struct norm_columns {
  float center[GROUP], rstd[GROUP], gain[GROUP], shift[GROUP];
};

/* to <- from's columns, or what stands for them. */
static __device__ __forceinline__ void load_reals_or(const void *from, float otherwise, int64_t first, int n,
                                                     float (&to)[GROUP]) {
  if (from) {
    load_reals(from, first, n, to);
    return;
  }
#pragma unroll
  for (int j = 0; j < GROUP; j++) to[j] = otherwise;
}

/* Row v's factor; 1 where there are none, or no such row. */
static __device__ __forceinline__ float scale_of(const void *scale, int64_t v, bool is_there) {
  return scale && is_there ? ((const float *)scale)[v] : 1;
}

static __device__ __forceinline__ void multiply_by(float scale, float (&x)[GROUP]) {
#pragma unroll
  for (int j = 0; j < GROUP; j++) x[j] *= scale;
}

/* NORM false: center alone. */
template <bool NORM>
static __device__ __forceinline__ void load_norm(const struct epilogue &op, int64_t first, int n,
                                                 struct norm_columns &c) {
  const bool batch = NORM && op.norm == NORM_BATCH;
  float bias[GROUP];
  load_reals_or(op.bias, 0, first, n, bias);
  load_reals_or(batch ? op.mean : NULL, 0, first, n, c.center);
#pragma unroll
  for (int j = 0; j < GROUP; j++) c.center[j] -= bias[j];
  if (!NORM) return;
  load_reals_or(batch ? op.rstd : NULL, 1, first, n, c.rstd);
  load_reals_or(op.gain, 1, first, n, c.gain);
  load_reals_or(op.shift, 0, first, n, c.shift);
}

#endif
