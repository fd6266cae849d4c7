/* bfloat16, the upper half of a float, rounded to nearest even: what kernels need of cuda_bf16.h, which takes
 * as long to compile as all other headers of a source together. */
#ifndef KERNELS_CUDA_COMMON_BF16_CUH
#define KERNELS_CUDA_COMMON_BF16_CUH

#include <stdint.h>

struct bf16 {
  uint16_t bits;
  bf16() = default;
  explicit __device__ __forceinline__ bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  explicit __device__ __forceinline__ operator float() const {
    float x;
    asm("mov.b32 %0, {0, %1};" : "=f"(x) : "h"(bits));
    return x;
  }
};

/* *from, which nobody writes meanwhile. */
static __device__ __forceinline__ bf16 read_only(const bf16 *from) {
  bf16 x;
  x.bits = __ldg(&from->bits);
  return x;
}

static __device__ __forceinline__ float read_only(const float *from) {
  return __ldg(from);
}

/* x, rounded, in the lower half of a word and y in the upper one. */
static __device__ __forceinline__ uint32_t rounded_pair(float x, float y) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
  return pair;
}

/* The two of a word. */
static __device__ __forceinline__ float low_half(uint32_t pair) {
  return __uint_as_float(pair << 16);
}

static __device__ __forceinline__ float high_half(uint32_t pair) {
  return __uint_as_float(pair & 0xFFFF0000u);
}

#endif
