/* Floats in pieces for tensor cores.
 *
 * Tensor cores take bf16. A float enters as two of them, hi = round(x) and mid = round(x - hi), which leaves
 * at most 2^-18 of x behind; x y = hi hi + hi mid + mid hi, so that a product of two floats errs by at most
 * 3 2^-18 of its size. An infinity gives NaN, as does a finite float beyond the largest bf16, 3.39e38; below
 * 2^-110 mid runs out of bits, and accuracy with it. */
#ifndef KERNELS_CUDA_GEMM_GEMM_SPLIT_CUH
#define KERNELS_CUDA_GEMM_GEMM_SPLIT_CUH

#include "kernels/cuda/common/vec.cuh"

/* Elements in 16 bytes. */
template <class T> constexpr int CHUNK = 16 / (int)sizeof(T);

template <class T> constexpr enum dtype DTYPE = sizeof(T) == 4 ? F32 : BF16;

/* Two neighbours in a sum, the first in the lower half of each word. */
struct bf16x2_split {
  uint32_t hi, mid;
};

static __device__ __forceinline__ struct bf16x2_split split(float x, float y) {
  const uint32_t hi = rounded_pair(x, y);
  return {hi, rounded_pair(x - low_half(hi), y - high_half(hi))};
}

#endif
