/* condensed: windows of 16 rows of a sparse matrix whose columns are moved together.
 *
 * The distinct columns of a window, ascending, stand side by side, sixteen in a block (sparse graph
 * translation: TC-GNN, Wang et al., USENIX ATC 2023); what is left of the last block repeats the window's
 * last column and holds nothing. The 256 bits of a block stand in the order in which the 32 threads of a warp
 * need them as A operand of a 16 x n x 16 product on tensor cores: byte t belongs to thread t, bit r to the
 * even and bit 4 + r to the odd column of its register r (PTX ISA, mma fragments); a thread's four columns
 * are neighbours here. Weights follow each other in the order of the bits, so that a thread finds its own by
 * counting the bits before them (Libra, Shi et al., 2025). A window is here whole, or not at all.
 *
 * Or windows have 8 rows, and each of their columns is a vector that is here or not by itself, as Libra has
 * it: those with entries enough. Vectors that are here stand together in blocks of eight. Of their 64 bits
 * byte t is row t, and its bit c column c, for an 8 x 8 operand on the other side of the product. */
#ifndef KERNELS_FORMAT_CONDENSED_H
#define KERNELS_FORMAT_CONDENSED_H

#include "kernels/cost/cost_windows.h"
#include "runtime/base/csr.h"

enum { BLOCK_BYTES = CONDENSED_ROWS * CONDENSED_COLS / 8, VECTOR_BYTES = VECTOR_ROWS * VECTOR_ROWS / 8 };

struct condensed {
  int side; /* rows of a window and columns of a block: CONDENSED_ROWS, or VECTOR_ROWS of column vectors */
  int64_t windows, taken, blocks, entries; /* windows of the matrix; those that are here, their blocks */
  int64_t *start;                          /* [windows + 1] first block of each window */
  int32_t *col;                            /* [blocks, side] */
  uint8_t *bits;                           /* [blocks, side side / 8] */
  int64_t *first;                          /* [blocks + 1] first value of each block; NULL: binary, as */
  float *value;                            /* [entries] */
};

/* What the windows of m look like, of every `every`-th 128 rows, on `threads` threads; the counts are
 * multiplied by `every`. Entries of tiles of `least` entries and more (kernels/format/tiles.h) are left out.
 * Errors: FAILED when memory is short. */
int condensed_count(const struct csr *m, int64_t least, int64_t every, int threads,
                    struct condensing *condensing);

/* What column vectors of at least `threshold` entries there are, of every `every`-th 128 rows on `threads`
 * threads, taken for all of m. Errors: FAILED when memory is short. */
int condensed_vectors(const struct csr *m, int64_t threshold, int64_t every, int threads,
                      struct window_choice *taken);

/* Which windows of m would be condensed beside the tiles of `choice`, by the prices of c's device; of a
 * sample of its entries. None of a matrix of two (csr.near). Errors: FAILED when memory is short. */
int condensed_foresee(const struct csr *m, const struct cost_case *c, const struct choice *choice,
                      int threads, struct window_choice *windows);

void condensed_free(struct condensed *condensed);

static inline int64_t blocks_of_side(int64_t columns, int side) {
  return (columns + side - 1) / side;
}

/* Where (row, col) of a block of that side stands, for processors and, compiled for them, GPUs. */
struct block_bit {
  int byte, bit;
};
#ifdef __CUDACC__
#define BLOCK_BIT static inline __host__ __device__
#else
#define BLOCK_BIT static inline
#endif
BLOCK_BIT struct block_bit block_bit_of(int side, int row, int col) {
  struct block_bit window = {row % 8 * 4 + col / 4, row / 8 + col % 4 / 2 * 2 + col % 2 * 4},
                   vectors = {row, col};
  return side == VECTOR_ROWS ? vectors : window;
}

#endif
