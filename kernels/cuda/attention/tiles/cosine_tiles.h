/* Attention by cosines over the arcs that lie in dense tiles (kernels/format/tiles.h), on tensor cores:
 * scores of a tile are a product of its rows and columns, weights stay in registers, and their product with
 * the columns follows. Of each piece of a window and each of its rows is left what a piece of a long row
 * leaves (write_piece of cosine_attention.cu and cosine_backward.cu). */
#ifndef KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_H
#define KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_H

#include "kernels/cuda/layout/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/attention.h"

struct cosine_tiles {
  const struct layout *a;
  int64_t width;               /* 1 .. COSINE_TILES_WIDTH */
  struct tensor message, rows; /* bf16, as struct cosine_attention or cosine_backward has them; aligned */
  const void *beta;            /* real */
  int arcs;                    /* backward: COSINE_IN | COSINE_OUT */
  float *sums;                 /* [pieces of windows, TILE_ROWS, stride] */
  int64_t stride;
};

/* Errors: FAILED where messages are not of bf16, wider, or not cuda_is_aligned. */
int cuda_cosine_tiles(struct kernels *k, const struct cosine_tiles *op);
int cuda_cosine_tiles_backward(struct kernels *k, const struct cosine_tiles *op);

#ifdef __cplusplus
}
#endif

#endif
