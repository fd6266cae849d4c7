/* Floats in pieces for tensor cores, and copies on their way to shared memory.
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

/* 16 bytes of an aligned row on their way to shared memory; elements from `count` on become 0. */
template <class T> static __device__ __forceinline__ void copy_chunk(uint4 *to, const T *from, int count) {
  const uint32_t address = (uint32_t)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(count * (int)sizeof(T))
               : "memory");
}

/* Elements of a chunk at `first` that lie before `end`. */
template <class T> static __device__ __forceinline__ int count_before(int64_t first, int64_t end) {
  return (int)max((int64_t)0, min((int64_t)CHUNK<T>, end - first));
}

/* Ends a batch of this thread's copies. */
static __device__ __forceinline__ void close_batch() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `behind` of the latest batches are under way, behind <= 2. */
static __device__ __forceinline__ void wait_for_batches(int behind) {
  if (behind == 0)
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  else if (behind == 1)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  else
    asm volatile("cp.async.wait_group 2;" ::: "memory");
}

#endif
