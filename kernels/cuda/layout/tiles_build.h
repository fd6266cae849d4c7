/* tiles_build: what kernels/format/tiles.c does, on the GPU, to the bit: a matrix is copied there once, its
 * cells are counted, tiles and the rest are written where the layout wants them. */
#ifndef KERNELS_CUDA_LAYOUT_TILES_BUILD_H
#define KERNELS_CUDA_LAYOUT_TILES_BUILD_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/format/tiles.h"

/* A matrix on the device, and what is counted there. */
struct tiles_build {
  int64_t rows, cols, nnz, windows;
  int64_t segments, all_segments; /* where tiles may be; and all */
  int32_t *col;                   /* [nnz] */
  float *value;                   /* [nnz]; NULL: binary */
  void *counts;                   /* of density; and the block of the following */
  int64_t *start;                 /* [rows + 1] */
  int64_t *tile_start;            /* [windows + 1], behind measure */
  int64_t *rest_start;            /* [rows + 1], behind measure */
  void *temporary;                /* of sums */
  size_t temporary_bytes;
  int32_t *rest_col; /* columns of the rest, behind rest; else NULL */
  float *rest_value; /* its weights */
};

/* Whether m can be cut on this device: the counts of a window's segments fit a multiprocessor. */
int cuda_tiles_can_build(const struct csr *m);

/* Copies m to the device. Errors: FAILED when memory is short; close takes a half-opened one. */
int cuda_tiles_build_open(struct kernels *k, const struct csr *m, struct tiles_build *build);
void cuda_tiles_build_close(struct kernels *k, struct tiles_build *build);

/* As tiles_density. */
int cuda_tiles_build_density(struct kernels *k, struct tiles_build *build, struct density *density);

/* Tiles of each window and entries left of each row, as tiles_split counts them: fills tiles->windows, count,
 * entries and start, and of rest all but the columns. */
int cuda_tiles_build_measure(struct kernels *k, struct tiles_build *build, int64_t least, const struct csr *m,
                             struct tiles *tiles, struct csr *rest);

/* Behind measure: the rest, which has so many entries, into build->rest_col and rest_value. */
int cuda_tiles_build_rest(struct kernels *k, struct tiles_build *build, int64_t least, int64_t entries);

/* Where tiles and the rest go, on the device; bits are zeros before. segment or rest_col may be NULL: the one
 * or the other is not wanted. first, value and rest_value: of weighted matrices alone. */
struct tile_arrays {
  int64_t count; /* tiles */
  int32_t *segment;
  uint32_t *bits;
  int64_t *first;
  float *value;
  int32_t *rest_col;
  float *rest_value;
};

/* Behind measure. */
int cuda_tiles_build_fill(struct kernels *k, struct tiles_build *build, int64_t least,
                          const struct tile_arrays *to);

/* first[i] = the sum of first[0 .. i), in place; temporary NULL: how many bytes of it that takes. */
int cuda_tiles_build_add_up(struct kernels *k, int64_t *first, int64_t items, void *temporary, size_t *bytes);

/* The weights of tiles whose segments and bits are there: to->first and value. Of fill. */
int cuda_tiles_build_values(struct kernels *k, struct tiles_build *build, const struct tile_arrays *to);

#ifdef __cplusplus
}
#endif

#endif
