/* layout: a sparse matrix as a device wants it. Every table's own struct begins with this one.
 *
 * A GPU's layout has two tiers, and every non-zero is in exactly one of them: tiles (kernels/tiles.h), dense
 * blocks as bitmaps for tensor cores, where kernels/choose.h says that they pay; and slots (kernels/slots.h),
 * compressed rows cut for the gather. Weighted matrices are all gathered: a bitmap has no place for values,
 * and planes of them (16 KiB a tile in bf16, twice that to fp32's accuracy, beside 1 KiB of bits) are not
 * there. */
#ifndef KERNELS_LAYOUT_H
#define KERNELS_LAYOUT_H

#include "runtime/csr.h"

struct layout {
  const struct csr *csr; /* the matrix on the host; borrowed, outlives the layout */
  int64_t least;         /* entries of a cell from which on it is a tile; TILE_CELLS + 1: none is */
  int64_t tiles, tile_entries;
  int64_t bytes; /* on the device */
};

#endif
