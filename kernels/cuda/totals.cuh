/* Sums over a block, in a fixed order. */
#ifndef KERNELS_CUDA_TOTALS_CUH
#define KERNELS_CUDA_TOTALS_CUH

#include "kernels/cuda/columns.cuh"

/* The sum of the block's BLOCK values, in thread 0. One-dimensional blocks. */
template <class NUMBER> static __device__ __forceinline__ NUMBER sum_of_block(NUMBER x) {
  __shared__ NUMBER shared[BLOCK];
  shared[threadIdx.x] = x;
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  return shared[0];
}

#endif
