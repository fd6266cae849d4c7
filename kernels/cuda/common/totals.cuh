/* Sums over a block, in a fixed order. */
#ifndef KERNELS_CUDA_COMMON_TOTALS_CUH
#define KERNELS_CUDA_COMMON_TOTALS_CUH

#include "kernels/cuda/common/vec.cuh"

/* The sum of the block's BLOCK values, in its first thread. */
template <class NUMBER> static __device__ __forceinline__ NUMBER sum_of_block(NUMBER x) {
  __shared__ NUMBER shared[BLOCK / 32];
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (int o = 16; o > 0; o /= 2) x += __shfl_down_sync(~0u, x, o);
  __syncthreads(); /* what an earlier sum left has been read */
  if (thread % 32 == 0) shared[thread / 32] = x;
  __syncthreads();
  for (int w = 1; w < BLOCK / 32 && thread == 0; w++) x += shared[w];
  return x;
}

#endif
