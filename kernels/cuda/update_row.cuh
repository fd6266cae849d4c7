/* The element-wise end of a layer on eight columns; see struct update. */
#ifndef KERNELS_CUDA_UPDATE_ROW_CUH
#define KERNELS_CUDA_UPDATE_ROW_CUH

#include "kernels/cuda/columns.cuh"

/* Mean and 1 / deviation by which column j of row v is standardised. */
static __device__ __forceinline__ float2 statistics_of(const struct update &op, int64_t v, int64_t j) {
  int64_t at = op.norm == NORM_LAYER ? v : j;
  return make_float2(((const float *)op.mean)[at], ((const float *)op.rstd)[at]);
}

/* u = z + bias. */
static __device__ __forceinline__ void add_bias(const struct update &op, int64_t first, int n,
                                                float (&u)[GROUP]) {
  const float *bias = (const float *)op.bias;
  if (!bias) return;
#pragma unroll
  for (int j = 0; j < GROUP; j++) u[j] += j < n ? bias[first + j] : 0;
}

/* u <- xhat. */
static __device__ __forceinline__ void standardize(const struct update &op, int64_t v, int64_t first, int n,
                                                   float (&u)[GROUP]) {
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    if (j >= n) break;
    float2 s = statistics_of(op, v, first + j);
    u[j] = (u[j] - s.x) * s.y;
  }
}

/* Gain of column j. */
static __device__ __forceinline__ float gain_of(const struct update &op, int64_t j) {
  return op.gain ? ((const float *)op.gain)[j] : 1;
}

/* xhat <- n. */
static __device__ __forceinline__ void gain_and_shift(const struct update &op, int64_t first, int n,
                                                      float (&x)[GROUP]) {
  const float *shift = (const float *)op.shift;
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    if (j < n) x[j] = x[j] * gain_of(op, first + j) + (shift ? shift[first + j] : 0);
  }
}

#endif
