/* The dense tiles of a matrix on the GPU (kernels/tiles.h), multiplied on tensor cores.
 *
 * Only windows with tiles are listed, those with most tiles first: they would run on alone at the end. Their
 * sums go to compact rows: compressed row i of the matrix to row position[i / 128] * 128 + i % 128; where the
 * matrix lists its rows, place[v] is that of row v of the result. */
#ifndef KERNELS_CUDA_TILES_H
#define KERNELS_CUDA_TILES_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/tiles_build.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/tiles.h"

struct tile_window {
  int32_t window, first, end; /* tiles [first, end) */
  int32_t unused;
};

struct cuda_tiles {
  int64_t count, listed;            /* tiles; windows that have some */
  const struct tile_window *window; /* [listed] */
  const int32_t *segment;           /* [count] */
  const uint32_t *bits;             /* [count, TILE_WORDS] */
  const int32_t *position;          /* [windows of the matrix] among the listed ones; -1: no tiles */
  const int32_t *place;             /* [last listed row + 1] compact row, -1: none; NULL: by position */
};

/* Whether this GPU, and this build for it, have the instructions (sm_90a). */
int cuda_has_tiles(void);

/* Cuts m into tiles and rest as the plan says, or not at all (*rest is {0} then). Lists for cuda_tiles come
 * with it; all of it is the caller's. Where the device cuts (build.col is there), tiles and rest have their
 * offsets here, and cuda_tiles_build_fill writes the other arrays on the device. */
struct tile_lists {
  struct tiles_build build;
  struct tiles tiles;
  struct tile_window *window;    /* [listed] */
  int32_t *position;             /* [windows] */
  int32_t *place;                /* [places]; NULL where the matrix does not list its rows */
  int64_t listed, places, least; /* least: entries of a tile */
};
int cuda_tiles_cut(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                   struct tile_lists *lists, struct csr *rest);
void cuda_tiles_cut_free(struct kernels *k, struct tile_lists *lists, struct csr *rest);

/* sums [128 listed, stride] = tiles times X, fp32. x is bf16 [rows of X, width], or two such planes whose sum
 * X is, side by side in rows of 2 plane columns (plane 0: there is one). Rows of x lie at multiples of 16
 * bytes; stride is a multiple of 64 for widths up to 64, of 128 beyond. Numbers of X that are not finite
 * reach the rows with an arc to them and no others. */
int cuda_tiles_multiply(struct kernels *k, const struct cuda_tiles *tiles, struct tensor x, int64_t plane,
                        float *sums, int64_t stride);

#ifdef __cplusplus
}
#endif

#endif
