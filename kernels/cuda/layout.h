/* The GPU's layout: compressed rows cut into slots, the units of work of a group of threads.
 *
 * A slot is a row, or a piece of one that is longer than the layout's limit. Slots stand in windows of
 * consecutive rows, the longest first inside a window: the rows of one warp are about equally long, and
 * neighbouring rows, which share columns, still meet in the caches. Slots far longer than the mean stand
 * before all windows: begun late, they would run on alone. Pieces of a row leave partial sums, which
 * are added in the order of the pieces. All of it lies in one block of device memory. */
#ifndef KERNELS_CUDA_LAYOUT_H
#define KERNELS_CUDA_LAYOUT_H

#include "kernels/cuda/tiles.h"
#include "kernels/layout.h"

enum { DENSE_DEGREE = 100 }; /* from this mean on a row's entries outweigh all else */

struct slot {
  int64_t first;  /* entry */
  int32_t count;  /* entries */
  int32_t target; /* row of the result, or ~piece */
};

struct long_row {
  int32_t row, first_piece, pieces, unused;
};

struct cuda_layout {
  struct layout base;
  struct cuda_tiles tiles; /* count 0: none. What follows is of the entries that are in no tile */
  int64_t gathered;        /* how many these are */
  int64_t slots, long_rows, pieces;
  const struct slot *slot;         /* [slots] */
  const struct long_row *long_row; /* [long_rows] */
  const int32_t *long_target;      /* [long_rows] their rows */
  const int32_t *piece_row;        /* [pieces] */
  const int32_t *col;              /* [nnz] */
  const int32_t *row;              /* [rows] of csr.row; NULL: row i */
  float *value;                    /* [nnz]; NULL: binary */
  void *block;                     /* what this layout owns of the above */
};

static inline const struct cuda_layout *cuda_layout(const struct layout *layout) {
  return (const struct cuda_layout *)layout;
}

#endif
