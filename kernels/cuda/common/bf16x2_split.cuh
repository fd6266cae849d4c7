/* A float as the sum of two bf16, to 16 bits: what tensor cores multiply in its place. */
#ifndef KERNELS_CUDA_COMMON_BF16X2_SPLIT_CUH
#define KERNELS_CUDA_COMMON_BF16X2_SPLIT_CUH

#include "kernels/cuda/common/vec.cuh"

/* Whatever is finite in x is finite in both, and what is not is in `high` alone; both still to be rounded. */
static __device__ __forceinline__ void split_bf16x2(float x, float &high, float &low) {
  constexpr float LARGEST = 0x1.FEp127f; /* in bf16; beyond it rounding would end at infinity */
  high = (float)(bf16)(isinf(x) ? x : fminf(fmaxf(x, -LARGEST), LARGEST));
  if (isnan(x)) high = x;
  low = isinf(x) || isnan(x) ? 0 : x - high;
}

#endif
