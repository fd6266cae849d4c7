/* tiles: the dense regions of a sparse matrix as bitmaps, the rest of it as compressed rows.
 *
 * A tile is 128 rows (a window) by 64 columns (a segment, at a multiple of 64) that hold at least `least`
 * non-zeros; every non-zero is in exactly one tile or in the rest. Its 8192 bits stand in the order in which
 * the 256 threads of two warpgroups need them as A operand of a 64 x n x 16 product on tensor cores: word t
 * belongs to thread t, bit 4k + r to the even and bit 16 + 4k + r to the odd column of its register r in step
 * k (PTX ISA, wgmma fragments). An arc then costs at most 8192 / least bits, and a row of X is fetched once
 * for 128 rows of the result (after TC-GNN, Wang et al., USENIX ATC 2023, with taller windows).
 *
 * Weights of a tile follow each other beside the bits and in their order, so that a thread finds its own by
 * counting the bits before them: 4 bytes an arc, where a plane of all cells would take 2 bytes a cell. Where
 * the weights of each strip begin, sixteen rows whose words one warp has, is kept. */
#ifndef KERNELS_FORMAT_TILES_H
#define KERNELS_FORMAT_TILES_H

#include "kernels/cost/cost_model.h"
#include "runtime/base/csr.h"

enum { TILE_WORDS = TILE_CELLS / 32, TILE_STRIPS = TILE_ROWS / 16, STRIP_WORDS = TILE_WORDS / TILE_STRIPS };

struct tiles {
  int64_t windows, count; /* windows of the matrix, tiles */
  int64_t entries;        /* non-zeros in tiles */
  int64_t *start;         /* [windows + 1] first tile of each window */
  int32_t *segment;       /* [count] ascending inside a window; the tile's columns begin at 64 segment */
  uint32_t *bits;         /* [count, TILE_WORDS] */
  int64_t *first;         /* [count TILE_STRIPS + 1] first weight of each strip; NULL: binary, as */
  float *value;           /* [entries] */
};

/* Segments of m whose columns are all of one matrix: only there are tiles. */
static inline int64_t tile_segments(const struct csr *m) {
  return m->near > 0 ? m->near / TILE_COLS : (m->cols + TILE_COLS - 1) / TILE_COLS;
}

/* Rows of the larger matrix: by these the cost model has what a gather takes. Two of them, read at once, were
 * gathered as fast as one after the other (docs/decisions/runtime/077-late-rows.md). */
static inline int64_t tile_columns(const struct csr *m) {
  return m->near > 0 && m->near > m->cols - m->near ? m->near : m->cols - m->near;
}

/* How dense the cells of m are, on `threads` threads; entries where no tiles are count as cells of one.
 * Errors: FAILED when memory is short. */
int tiles_density(const struct csr *m, int threads, struct density *density);

/* Cuts m into tiles and *rest (new arrays; compressed row i of m is compressed row i of both, rest.row is
 * m.row, borrowed), on `threads` threads; the result does not depend on their number. least > 8192 gives no
 * tile. Errors: FAILED when memory is short. */
int tiles_split(const struct csr *m, int64_t least, int threads, struct tiles *tiles, struct csr *rest);
void tiles_free(struct tiles *tiles);

/* Frees what tiles_split made of rest. */
void tiles_rest_free(struct csr *rest);

/* Where (row, col) of a tile stands, for processors and, compiled for them, GPUs. */
struct tile_bit {
  int word, bit;
};
#ifdef __CUDACC__
#define TILE_BIT static inline __host__ __device__
#else
#define TILE_BIT static inline
#endif
TILE_BIT struct tile_bit tile_bit_of(int row, int col) {
  int lane = row % 8 * 4 + col % 8 / 2, word = row / 16 * 32 + lane;
  struct tile_bit at = {word, col / 16 * 4 + row % 16 / 8 + col % 16 / 8 * 2 + col % 2 * 16};
  return at;
}

#endif
