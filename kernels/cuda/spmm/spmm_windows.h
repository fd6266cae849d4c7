/* The part of spmm that tensor cores do: tiles and condensed windows, before the gather of the rest. */
#ifndef KERNELS_CUDA_SPMM_SPMM_WINDOWS_H
#define KERNELS_CUDA_SPMM_SPMM_WINDOWS_H

#include "kernels/cuda/layout/layout.h"

/* Where in the workspace planes of X lie (at its beginning), sums of tiles, sums of condensed windows. */
struct windows_place {
  int64_t tiles, condensed, bytes;
  int64_t stride; /* floats, of both sums */
};

static inline int cuda_has_windows(const struct cuda_layout *a) {
  return a->tiles.count > 0 || a->condensed.blocks > 0;
}

/* From shapes alone. */
struct windows_place cuda_windows_place(const struct cuda_layout *a, const struct spmm *op);

/* The sums of both. x: op->x, or a copy of it, whose rows lie x_bytes apart, at multiples of 16 bytes; of
 * floats eight columns can be read at a time. */
int cuda_windows_multiply(struct kernels *k, const struct spmm *op, const char *x, int64_t x_bytes,
                          const struct windows_place *place, char *workspace);

#endif
