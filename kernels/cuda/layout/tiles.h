/* The dense tiles of a matrix on the GPU (kernels/format/tiles.h), multiplied on tensor cores. Windows with
 * tiles are cut into pieces, those with most tiles first: they would run on alone at the end. */
#ifndef KERNELS_CUDA_LAYOUT_TILES_H
#define KERNELS_CUDA_LAYOUT_TILES_H

#include "kernels/cuda/common/cuda.h"
#include "kernels/cuda/layout/tiles_build.h"
#include "kernels/format/window_pieces.h"
#include "kernels/ops/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/format/tiles.h"

enum { TILE_PIECE = 128 /* tiles; sums of more would lose digits too */ };

struct cuda_tiles {
  int64_t count, pieces;
  const struct window_piece *piece; /* [pieces] */
  const int32_t *start;             /* [windows + 1] places of each window's sums */
  const int32_t *segment;           /* [count] */
  const uint32_t *bits;             /* [count, TILE_WORDS] */
  const int64_t *first;             /* [count TILE_STRIPS + 1]; NULL: binary, as */
  const float *value;
};

/* Whether this GPU, and this build for it, have the instructions (sm_90a). */
int cuda_has_tiles(void);

/* What becomes tiles of a matrix. Where the device cuts (build.col is there), tiles and rest have their
 * offsets here, and cuda_tiles_build_fill writes the other arrays on the device. */
struct tile_lists {
  struct tiles_build build;
  struct cost_model attention; /* of the product, where the layout is for it */
  struct cost_case product;
  struct choice choice; /* tile_arcs_least: entries of a tile; the rest of it where the cost model chose */
  struct choice gather; /* where it chose: without tiles */
  struct tiles tiles;
  struct window_pieces pieces;
};

/* Chooses by the plan which cells of m are tiles: lists->choice. */
int cuda_tiles_choose(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                      struct tile_lists *lists);
/* Cuts m into tiles and rest, or not at all (*rest is {0} then). */
int cuda_tiles_cut(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                   struct tile_lists *lists, struct csr *rest);
void cuda_tiles_cut_free(struct kernels *k, struct tile_lists *lists, struct csr *rest);

/* sums [pieces, 128, stride] = tiles times X, fp32. x is bf16 [rows of X, width], or two such planes whose
 * sum X is, side by side in rows of 2 plane columns (plane 0: there is one). Rows of x lie at multiples of 16
 * bytes; stride is a multiple of 64 for widths up to 64, of 128 beyond. Numbers of X that are not finite
 * reach the rows with an arc to them and no others. */
int cuda_tiles_multiply(struct kernels *k, const struct cuda_tiles *tiles, struct tensor x, int64_t plane,
                        float *sums, int64_t stride);

#ifdef __cplusplus
}
#endif

#endif
