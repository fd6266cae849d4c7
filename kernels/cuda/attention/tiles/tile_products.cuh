/* What kernels of attention on tiles share: products of operands that a thread makes in registers with boxes
 * in shared memory, in the instructions of sm_90a, masks of a tile's bits, and its arcs one by one. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_TILE_PRODUCTS_CUH
#define KERNELS_CUDA_ATTENTION_TILES_TILE_PRODUCTS_CUH

#include "kernels/cuda/layout/tiles_window.cuh"

/* The tiles of a layout, and where sums of their rows are left. */
struct tile_arcs {
  const struct window_piece *piece;
  const int32_t *segment;
  const uint32_t *bits;
  const int32_t *row; /* [rows] of the compressed ones; NULL: row i */
  int32_t rows;
  float *sums; /* [places, TILE_ROWS, stride] */
  int64_t stride;
};

static inline struct tile_arcs tile_arcs_of(const struct layout *layout, float *sums, int64_t stride) {
  const struct cuda_layout *a = cuda_layout(layout);
  struct tile_arcs arcs = {};
  arcs.piece = a->tiles.piece;
  arcs.segment = a->tiles.segment;
  arcs.bits = a->tiles.bits;
  arcs.row = a->row;
  arcs.rows = (int32_t)a->base.csr->rows;
  arcs.sums = sums;
  arcs.stride = stride;
  return arcs;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* sum [64, 16] += a (registers, [64, 16]) times x (shared memory, [16, 16]); likewise of 32 columns. */
static __device__ __forceinline__ void multiply(float (&sum)[8], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7},"
               "{%8,%9,%10,%11}, %12, add, 1, 1, 1; }"
               : LIST8(sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

static __device__ __forceinline__ void multiply(float (&sum)[16], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15},"
               "{%16,%17,%18,%19}, %20, add, 1, 1, 1; }"
               : LIST8(sum, 0), LIST8(sum, 8)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

/* Likewise of the eight columns of numbers. */
static __device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3},"
               "{%4,%5,%6,%7}, %8, add, 1, 1, 1; }"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

static __device__ __forceinline__ void pin(uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) asm volatile("" : "+r"(a[i])::"memory");
}

/* A matrix of wgmma's, terms of the sum in boxes of N columns: rows of 2 N bytes, chunks of 16 bytes swizzled
 * within 8 rows. Its address stands in units of 16 bytes in the lowest bits of the lower word. */
static __device__ __forceinline__ uint32_t narrow_address(uint32_t address) {
  return (address & 0x3FFFF) >> 4 | 1u << 16;
}

template <int N> static __device__ __forceinline__ uint64_t narrow_matrix(uint32_t address) {
  constexpr uint32_t swizzle = N == 64 ? 1 : N == 32 ? 2 : 3, eight_rows = 16 * N;
  uint64_t matrix;
  asm("mov.b64 %0, {%1, %2};" : "=l"(matrix) : "r"(address), "n"(eight_rows >> 4 | swizzle << 30));
  return matrix;
}

/* All ones in the half of the word whose cell has an arc: bits i and 16 + i. */
static __device__ __forceinline__ uint32_t mask_of_arcs(uint32_t word, int i) {
  uint32_t mask;
  asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(mask) : "r"(word << (15 - i)));
  return mask;
}

static __device__ __forceinline__ void copy_line(void *to, const void *from, uint32_t bytes,
                                                 uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

/* Of the two rows of this thread in its window the first. */
static __device__ __forceinline__ int row_of_thread() {
  return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4;
}

/* Row r of a window among all; -1 behind the last one. */
static __device__ __forceinline__ int32_t row_of_window(const struct tile_arcs &op, int32_t window, int r) {
  const int32_t i = window * TILE_ROWS + r;
  if (i >= op.rows) return -1;
  return op.row ? __ldg(op.row + i) : i;
}

static __device__ __forceinline__ float *sums_of_row(const struct tile_arcs &op, int32_t place, int r) {
  return op.sums + ((int64_t)place * TILE_ROWS + r) * op.stride;
}

/* Starts copies up to S::AHEAD tiles ahead, of which `left` are to be summed, waiting for stages to become
 * empty: of a tile's bits, and by copy(stage, barrier, its segment) of what else a stage has. */
template <class S, class COPY>
static __device__ __forceinline__ void fetch_ahead(const struct tile_arcs &op, unsigned char *stages,
                                                   ring<S> &ring, struct feeder &f, int left,
                                                   const COPY &copy) {
  for (const int end = min(f.tiles - left + 1 + S::AHEAD, f.tiles); f.next < end;) {
    unsigned char *to = stages + f.slot * S::STAGE_BYTES;
    uint64_t *full = &ring.full[f.slot];
    if (f.next >= S::STAGES) barrier_wait(&ring.empty[f.slot], f.parity);
    barrier_expect(full, S::FILL_BYTES);
    copy(to, full, f.row);
    copy_line(to + S::BITS, op.bits + (int64_t)(f.segment - op.segment + f.next) * TILE_WORDS, TILE_WORDS * 4,
              full);
    if (++f.next < f.tiles) f.row = __ldg(f.segment + f.next);
    if (++f.slot == S::STAGES) f.slot = 0, f.parity ^= 1;
  }
}

/* Calls arc(segment, column of it) for the arcs of row r, in order. */
template <class ARC>
static __device__ __forceinline__ void each_arc(const struct tile_arcs &op, const struct window_piece &w,
                                                int r, const ARC &arc) {
  for (int t = w.first; t < w.end; t++) {
    const uint32_t *bits = op.bits + (int64_t)t * TILE_WORDS + r / 16 * STRIP_WORDS + r % 8 * 4;
    for (int q = 0; q < 4; q++) {
      uint32_t word = bits[q] & (r % 16 < 8 ? 0x55555555u : 0xAAAAAAAAu); /* see tile_bit_of */
      for (; word; word &= word - 1) {
        const int b = __ffs(word) - 1;
        arc(op.segment[t], b % 16 / 4 * 16 + b % 4 / 2 * 8 + 2 * q + b / 16);
      }
    }
  }
}

#endif

#endif
