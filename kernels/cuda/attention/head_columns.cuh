/* Walks over rows that hold heads side by side: a thread's eight columns are of one head. */
#ifndef KERNELS_CUDA_ATTENTION_HEAD_COLUMNS_CUH
#define KERNELS_CUDA_ATTENTION_HEAD_COLUMNS_CUH

#include "kernels/cuda/common/walk.cuh"

/* Whether a row's lanes hold all of it and the lanes of a head exchange in pairs. */
static inline bool heads_fit(int64_t width, int64_t heads) {
  const int64_t lanes = width / heads / GROUP;
  if (!lanes_hold(width)) return false;
  return heads == 1 || (width / heads % GROUP == 0 && (lanes & (lanes - 1)) == 0);
}

/* Sum over the lanes of a head, the same in each; by whole warps. heads_fit. */
static __device__ __forceinline__ float sum_of_head(float x, int64_t heads, int64_t each) {
  const unsigned lanes = heads == 1 ? blockDim.x : (unsigned)(each / GROUP);
  for (unsigned o = 1; o < lanes; o *= 2) x += __shfl_xor_sync(~0u, x, o);
  return x;
}

static __device__ __forceinline__ float dot(const float (&x)[GROUP], const float (&y)[GROUP], int n) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < GROUP; j++) sum += j < n ? x[j] * y[j] : 0;
  return sum;
}

#endif
