/* layout: a sparse matrix as a device wants it. Every table's own struct begins with this one.
 *
 * A GPU's layout has three tiers, and every non-zero is in exactly one of them: tiles
 * (kernels/format/tiles.h), dense blocks as bitmaps for tensor cores; condensed windows
 * (kernels/format/condensed.h), also for tensor cores, of what is left, or column vectors in their place;
 * where kernels/cost/cost_model.h says that tiles and windows pay; and row segments
 * (kernels/format/row_segments.h), compressed rows cut for the gather. Weights are 4 bytes an arc in each
 * tier; tiles round them to bf16 where X is.
 *
 * Or nothing is made of the matrix at all (LAYOUT_CSR): row offsets, columns and weights as they are, which
 * op_spmm alone can read. */
#ifndef KERNELS_FORMAT_LAYOUT_H
#define KERNELS_FORMAT_LAYOUT_H

#include "runtime/base/csr.h"

struct layout {
  const struct csr *csr; /* the matrix on the host; borrowed, outlives the layout */
  int64_t least;         /* entries of a cell from which on it is a tile; TILE_CELLS + 1: none is */
  int64_t tiles, tile_entries;
  int64_t windows, window_blocks, window_entries; /* condensed */
  int64_t vectors; /* not 0: what is condensed are column vectors of so many entries and more */
  int plain;       /* compressed rows as they are: no tiers */
  int64_t bytes;   /* on the device */
  double copying;  /* seconds of its making that large copies to it took */
};

#endif
