/* Condensed windows, or column vectors, of a matrix on the GPU (kernels/format/condensed.h), multiplied on
 * tensor cores, and what decides which these are. */
#ifndef KERNELS_CUDA_LAYOUT_CONDENSED_H
#define KERNELS_CUDA_LAYOUT_CONDENSED_H

#include "kernels/cuda/layout/condensed_build.h"
#include "kernels/cuda/layout/tiles.h"
#include "kernels/format/window_pieces.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/format/condensed.h"

enum { CONDENSED_PIECE = 128 /* blocks */ };

struct cuda_condensed {
  int side; /* see struct condensed */
  int64_t blocks, pieces;
  const struct window_piece *piece; /* [pieces] */
  const int32_t *start;             /* [windows + 1] places of each window's sums */
  const int32_t *col;               /* [blocks, side] */
  const uint8_t *bits;              /* [blocks, side side / 8] */
  const int64_t *first;             /* [blocks + 1]; NULL: binary, as */
  const float *value;
};

/* Whether this GPU has the instructions (sm_80 and later). */
int cuda_has_condensed(void);

/* As condensed_count, of a matrix that is on the device. Errors: FAILED when memory is short. */
int cuda_condensed_count(struct kernels *k, const struct tiles_build *m, int64_t least, int64_t every,
                         struct condensing *condensing);

/* Whether m, less the tiles that were chosen, has windows to condense: all that have entries, or their
 * vectors, where the plan forces it; else as the cost model says of a part of them, which may give up the
 * tiles for their sake. *rule is what to take them by. */
int cuda_condensed_wanted(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct tile_lists *tiles, struct window_rule *rule, int *wanted);

/* What becomes condensed windows of a matrix: offsets alone, cuda_condensed_build_fill writes the other
 * arrays on the device. */
struct condensed_lists {
  struct condensed_build build;
  struct condensed condensed;
  struct window_pieces pieces;
};

/* Cuts m, or where that was cut into tiles what they left of it, *left, into condensed windows and *rest. */
int cuda_condensed_cut(struct kernels *k, const struct csr *left, struct tile_lists *tiles,
                       const struct window_rule *rule, struct condensed_lists *lists, struct csr *rest);
void cuda_condensed_cut_free(struct kernels *k, struct condensed_lists *lists, struct csr *rest);

/* sums [pieces, side, stride] = condensed windows times X, fp32. x and plane as cuda_tiles_multiply has them;
 * stride is a multiple of 64. */
int cuda_condensed_multiply(struct kernels *k, const struct cuda_condensed *condensed, struct tensor x,
                            int64_t plane, float *sums, int64_t stride);

#ifdef __cplusplus
}
#endif

#endif
