/* condensed: windows of 16 rows of a sparse matrix whose columns are moved together.
 *
 * The distinct columns of a window, ascending, stand side by side, sixteen in a block (sparse graph
 * translation: TC-GNN, Wang et al., USENIX ATC 2023); what is left of the last block repeats the window's
 * last column and holds nothing. The 256 bits of a block stand in the order in which the 32 threads of a warp
 * need them as A operand of a 16 x n x 16 product on tensor cores: byte t belongs to thread t, bit r to the
 * even and bit 4 + r to the odd column of its register r (PTX ISA, mma fragments); a thread's four columns
 * are neighbours here. Weights follow each other in the order of the bits, so that a thread finds its own by
 * counting the bits before them (Libra, Shi et al., 2025). A window is here whole, or not at all. */
#ifndef KERNELS_FORMAT_CONDENSED_H
#define KERNELS_FORMAT_CONDENSED_H

#include "kernels/cost/cost_windows.h"
#include "runtime/base/csr.h"

enum { BLOCK_BYTES = CONDENSED_ROWS * CONDENSED_COLS / 8 };

struct condensed {
  int64_t windows, taken, blocks, entries; /* windows of the matrix; those that are here, their blocks */
  int64_t *start;                          /* [windows + 1] first block of each window */
  int32_t *col;                            /* [blocks, 16] */
  uint8_t *bits;                           /* [blocks, 32] */
  int64_t *first;                          /* [blocks + 1] first value of each block; NULL: binary, as */
  float *value;                            /* [entries] */
};

/* What the windows of m look like, of every `every`-th 128 rows, on `threads` threads; the counts are
 * multiplied by `every`. Entries of tiles of `least` entries and more (kernels/format/tiles.h) are left out.
 * Errors: FAILED when memory is short. */
int condensed_count(const struct csr *m, int64_t least, int64_t every, int threads,
                    struct condensing *condensing);

void condensed_free(struct condensed *condensed);

/* Where (row, col) of a block stands, for processors and, compiled for them, GPUs. */
struct block_bit {
  int byte, bit;
};
#ifdef __CUDACC__
#define BLOCK_BIT static inline __host__ __device__
#else
#define BLOCK_BIT static inline
#endif
BLOCK_BIT struct block_bit block_bit_of(int row, int col) {
  struct block_bit at = {row % 8 * 4 + col / 4, row / 8 + col % 4 / 2 * 2 + col % 2 * 4};
  return at;
}

#endif
