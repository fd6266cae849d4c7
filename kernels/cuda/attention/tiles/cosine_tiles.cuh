/* What both directions of attention by cosines on tiles share; see cosine_windows.h.
 *
 * A block of 256 threads has one piece of a window of 128 rows. Its own rows stand in registers, laid out as
 * A operands of wgmma: 16 columns a step, in four words a thread. Rows of columns come to shared memory in
 * boxes of TILE_COLS rows by N columns, N = 16, 32 or 64, with zeros behind the width. Such a box is B
 * operand twice: transposed, of products [64, 64] of rows with columns (multiply_rows), and as it lies, of
 * sums over columns (multiply). The cells that a thread gets from the former are those that it must make of
 * the latter's A operand, and those whose bits its word of the tile has. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_CUH
#define KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_CUH

#include "kernels/cuda/attention/parts/cosine_ends.cuh"
#include "kernels/cuda/attention/tiles/tile_products.cuh"

struct cosine_product : tile_arcs, cosine_ends {};

/* Reals of messages come in boxes, too, of 16 elements: 32 bytes a row, whose two chunks of 16 bytes have
 * changed places in every other four rows. */
constexpr int REALS_COLUMNS = ROW_BYTES / 2;
constexpr uint32_t REALS_BYTES = TILE_COLS * ROW_BYTES;

static inline struct cosine_product cosine_product_of(struct kernels *k, const struct cosine_windows *op) {
  struct cosine_product product = {};
  static_cast<tile_arcs &>(product) = tile_arcs_of(op->a, op->sums, op->stride);
  static_cast<cosine_ends &>(product) = cosine_ends_of(k, op);
  return product;
}

/* How copies see the message's columns from `first` bytes on: `cols` of them, in boxes of N. */
static inline int map_of_message(const struct cosine_windows *op, uint32_t first, int64_t cols, int n,
                                 CUtensorMap *map) {
  return cuda_tma_map_columns(tensor_columns(op->message, first / 2, cols), TILE_COLS, n, map);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* sum [64, 64] += a (registers, [64, 16]) times the transpose of x (shared memory, [64, 16]: 16 columns of a
 * box); ADDS false: sum = that. */
template <bool ADDS>
static __device__ __forceinline__ void multiply_rows(float (&sum)[32], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, %37, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31},"
               "{%32,%33,%34,%35}, %36, add, 1, 1, 0; }"
               : LIST32(sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x), "n"((int)ADDS));
}

/* sum = rows times the transpose of all columns of a box at `box` in shared memory. */
template <int N>
static __device__ __forceinline__ void multiply_box(float (&sum)[32], const uint32_t (&rows)[N / TERMS][4],
                                                    uint32_t box) {
  const uint32_t address = narrow_address(box);
  multiply_rows<false>(sum, rows[0], narrow_matrix<N>(address));
#pragma unroll
  for (int k = 1; k < N / TERMS; k++)
    multiply_rows<true>(sum, rows[k], narrow_matrix<N>(address + k * TERMS * 2 / 16));
}

/* sum += a step's cells, 16 columns of the tile from 16 k on, times their rows of a box of N columns. */
template <int N>
static __device__ __forceinline__ void multiply_step(float (&sum)[N / 2], const uint32_t (&cells)[4], int k,
                                                     uint32_t box) {
  multiply(sum, cells, narrow_matrix<N>(narrow_address(box) + k * TERMS * N * 2 / 16));
}

/* The message of row r of a window; NULL behind the last row. */
static __device__ __forceinline__ const char *message_of_row(const struct cosine_product &op, int32_t window,
                                                             int r) {
  const int32_t row = row_of_window(op, window, r);
  return row < 0 ? NULL : at<char>(op.mine, row, 0);
}

/* This thread's part of `width` columns of bf16 of its two rows as A operands; 0 behind them, and where there
 * is no row. */
template <int N>
static __device__ __forceinline__ void load_rows(const char *first, const char *second, int32_t width,
                                                 uint32_t (&a)[N / TERMS][4]) {
#pragma unroll
  for (int i = 0; i < N / 4; i++) {
    const char *row = i % 2 ? second : first;
    const int32_t col = i / 4 * TERMS + i % 4 / 2 * 8 + 2 * ((int)threadIdx.x % 4);
    uint32_t word = row && col < width ? __ldg((const uint32_t *)(row + 2 * col)) : 0;
    if (col + 1 == width) word &= 0xFFFF;
    a[i / 4][i % 4] = word;
  }
}

/* Where the reals of column `col` of a step lie in a box of reals: col is 2 (thread % 4), or 1, 8 or 9 more.
 */
static __device__ __forceinline__ const float *reals_of(const unsigned char *box, int k, int col) {
  const int swapped = (int)threadIdx.x % 4 / 2; /* col / 4 % 2 */
  return (const float *)(box + (k * TERMS + col) * ROW_BYTES + swapped * 16);
}

#endif

#endif
