/* Scores of attention, as gathered arcs and those of tiles have them alike. */
#ifndef KERNELS_CUDA_COMMON_SCORE_CUH
#define KERNELS_CUDA_COMMON_SCORE_CUH

#include "kernels/cuda/common/vec.cuh"

constexpr float SCORE_SLOPE = 0.2f;
constexpr float LOWEST = -1e30f; /* below every score; finite, so that differences are */

/* In units of log 2; rounded alike wherever it is taken from another. */
static __device__ __forceinline__ float scaled(float x) {
  return __fmul_rn(x, LOG2_E);
}

static __device__ __forceinline__ float leaky(float x) {
  return fmaxf(x, SCORE_SLOPE * x);
}

#endif
