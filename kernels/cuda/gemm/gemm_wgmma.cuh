/* wgmma: products of 64 rows on tensor cores by the four warps of a warpgroup together, which go on while the
 * tensor cores work (compute capability 9.0a).
 *
 * The left matrix [64, 16] is in registers: warp w, lane 4 g + q holds, by pairs in k, (16 w + g, 2 q), (16 w
 * + g + 8, 2 q), (16 w + g, 2 q + 8), (16 w + g + 8, 2 q + 8); of the sum's block j of 8 columns (16 w + g, 2
 * q),
 * (.., 2 q + 1), (16 w + g + 8, 2 q), (.., 2 q + 1). The right matrix [16, 8 BLOCKS] is in shared memory as
 * two halves in k of blocks of 128 bytes, [half][block][column][8 in k].
 *
 * What a product reads must not change before it has ended, nor may its sums be looked at: wait_for_products.
 * Tensor cores cut off what they add to a sum in fp32 rather than round it: a sum of one sign loses up to
 * 2^-24 of itself with each product, on average half of that. */
#ifndef KERNELS_CUDA_GEMM_GEMM_WGMMA_CUH
#define KERNELS_CUDA_GEMM_GEMM_WGMMA_CUH

#include <cstdint>

#include "kernels/cuda/common/wgmma.cuh"

/* Where the right matrix begins. */
template <int BLOCKS> static __device__ __forceinline__ uint64_t right_matrix(const void *shared) {
  const uint64_t address = __cvta_generic_to_shared(shared), half = BLOCKS * 128, block = 128;
  return (address >> 4 & 0x3FFF) | (half >> 4) << 16 | (block >> 4) << 32;
}

/* The same `bytes` further on. */
static __device__ __forceinline__ uint64_t further(uint64_t matrix, int bytes) {
  return matrix + (uint64_t)(bytes >> 4);
}

/* Keeps the compiler from moving uses of the sums across this point. */
template <int BLOCKS> static __device__ __forceinline__ void hold(float (&sum)[BLOCKS][4]) {
#pragma unroll
  for (int i = 0; i < 4 * BLOCKS; i++) asm volatile("" : "+f"(sum[i / 4][i % 4])::"memory");
}

/* The registers of sums by number, and the operands behind them: `left` and `right`, or both matrices. */
#define REGISTERS24 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23"
#define REGISTERS32 \
  REGISTERS24       \
  ",%24,%25,%26,%27,%28,%29,%30,%31"
#define REGISTERS56                                                                      \
  REGISTERS32                                                                            \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52" \
  ",%53,%54,%55"
#define REGISTERS64 \
  REGISTERS56       \
  ",%56,%57,%58,%59,%60,%61,%62,%63"
#define REGISTERS128                                                                      \
  REGISTERS64                                                                             \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84"  \
  ",%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104" \
  ",%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121" \
  ",%122,%123,%124,%125,%126,%127"
#define SUMS1(j) "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
#define SUMS2(j) SUMS1(j), SUMS1((j) + 1)
#define SUMS4(j) SUMS2(j), SUMS2((j) + 2)
#define SUMS8(j) SUMS4(j), SUMS4((j) + 4)
#define SUMS16(j) SUMS8(j), SUMS8((j) + 8)

/* sum = left right, + sum when `adds`. The left matrix is in registers, and the right one in halves, or as
 * boxes whose rows are terms of the sum where the template says so; or both are in shared memory as boxes,
 * whose columns are terms of the sum, or rows. */
#define PRODUCTS(BLOCKS, COLS, REGISTERS, O0, O1, O2, O3, O4, O5, O6, ...)                                \
  template <bool RIGHT_ROWS = false>                                                                      \
  static __device__ __forceinline__ void multiply(float(&sum)[BLOCKS][4], const uint32_t(&left)[4],       \
                                                  uint64_t right, int adds) {                             \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " O5 ", 0; wgmma.mma_async.sync.aligned.m64n" COLS        \
                 "k16.f32.bf16.bf16 {" REGISTERS "}, {" O0 "," O1 "," O2 "," O3 "}, " O4 ", p, 1, 1, " O6 \
                 ";}"                                                                                     \
                 : __VA_ARGS__                                                                            \
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(adds),         \
                   "n"(RIGHT_ROWS ? 1 : 0)                                                                \
                 : "memory");                                                                             \
  }                                                                                                       \
  template <bool LEFT_ROWS, bool RIGHT_ROWS>                                                              \
  static __device__ __forceinline__ void multiply(float(&sum)[BLOCKS][4], uint64_t left, uint64_t right,  \
                                                  int adds) {                                             \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " O2 ", 0; wgmma.mma_async.sync.aligned.m64n" COLS        \
                 "k16.f32.bf16.bf16 {" REGISTERS "}, " O0 ", " O1 ", p, 1, 1, " O3 ", " O4 ";}"           \
                 : __VA_ARGS__                                                                            \
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_ROWS ? 1 : 0), "n"(RIGHT_ROWS ? 1 : 0)      \
                 : "memory");                                                                             \
  }

PRODUCTS(6, "48", REGISTERS24, "%24", "%25", "%26", "%27", "%28", "%29", "%30", SUMS4(0), SUMS2(4))
PRODUCTS(8, "64", REGISTERS32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", SUMS8(0))
PRODUCTS(14, "112", REGISTERS56, "%56", "%57", "%58", "%59", "%60", "%61", "%62", SUMS8(0), SUMS4(8),
         SUMS2(12))
PRODUCTS(16, "128", REGISTERS64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", SUMS16(0))
PRODUCTS(32, "256", REGISTERS128, "%128", "%129", "%130", "%131", "%132", "%133", "%134", SUMS16(0),
         SUMS16(16))

#undef PRODUCTS
#undef SUMS1
#undef SUMS2
#undef SUMS4
#undef SUMS8
#undef SUMS16
#undef REGISTERS24
#undef REGISTERS32
#undef REGISTERS56
#undef REGISTERS64
#undef REGISTERS128

#endif
