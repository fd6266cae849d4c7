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

/* A piece of tiles that warps fetch: alike in a warp, and known to be, so that registers of the warp hold it.
 */
struct fetched_piece {
  int32_t first, tiles;
  int warp; /* of the block */
};

static __device__ __forceinline__ struct fetched_piece fetched_piece_of(const struct window_piece &w) {
  return {__shfl_sync(~0u, w.first, 0), __shfl_sync(~0u, w.end - w.first, 0),
          __shfl_sync(~0u, (int)threadIdx.x / 32, 0)};
}

/* Starts the copies of tile t of a piece, if there is one, once its stage is empty. Warps share them out, for
 * where one thread starts all, the others wait for its warp at each product: copy(i, stage, barrier, segment)
 * starts number i of those but the last, which brings the tile's bits. segment: the tile's; then that of the
 * next one. */
template <class S, class COPY>
static __device__ __forceinline__ void fetch_tile(const struct tile_arcs &op, unsigned char *stages,
                                                  ring<S> &ring, const struct fetched_piece &piece, int t,
                                                  int32_t &segment, const COPY &copy) {
  static_assert(S::COPIES <= BLOCK / 32, "a warp starts one copy");
  if (t < piece.tiles && piece.warp < S::COPIES && threadIdx.x % 32 == 0) {
    const int slot = t % S::STAGES, turn = t / S::STAGES;
    unsigned char *to = stages + slot * S::STAGE_BYTES;
    uint64_t *full = &ring.full[slot];
    if (turn > 0) barrier_wait(&ring.empty[slot], (uint32_t)(turn - 1) & 1);
    if (piece.warp == 0) barrier_expect(full, S::FILL_BYTES);
    if (piece.warp < S::COPIES - 1)
      copy(piece.warp, to, full, segment);
    else
      copy_line(to + S::BITS, op.bits + (int64_t)(piece.first + t) * TILE_WORDS, TILE_WORDS * 4, full);
  }
  if (t + 1 < piece.tiles) segment = __ldg(op.segment + piece.first + t + 1);
  __syncwarp();
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
