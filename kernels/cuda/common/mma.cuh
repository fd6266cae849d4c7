/* Products of a warp on tensor cores whose operands lie in registers (PTX ISA, mma and movmatrix; sm_80). */
#ifndef KERNELS_CUDA_COMMON_MMA_CUH
#define KERNELS_CUDA_COMMON_MMA_CUH

#include <cstdint>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* sum [16, 8] += a [16, 16] x [16, 8], of bf16. */
static __device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t x0,
                                                uint32_t x1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(x0), "r"(x1));
}

/* The transpose of an 8 x 8 matrix of bf16, of which thread 4 i + j has numbers 2 j and 2 j + 1 of row i. */
static __device__ __forceinline__ uint32_t transposed(uint32_t x) {
  uint32_t y;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

#endif

#endif
