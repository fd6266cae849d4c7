/* Attention by cosines over the arcs that tensor cores take: those in dense tiles (kernels/format/tiles.h) or
 * in column vectors (kernels/format/condensed.h). Scores of a tile or block are a product of its rows and
 * columns, an SDDMM; weights stay in registers, and their product with the columns follows. Of each piece of
 * a window and each of its rows is left what a piece of a long row leaves (write_piece of cosine_attention.cu
 * and cosine_backward.cu). */
#ifndef KERNELS_CUDA_ATTENTION_PARTS_COSINE_WINDOWS_H
#define KERNELS_CUDA_ATTENTION_PARTS_COSINE_WINDOWS_H

#include "kernels/cuda/layout/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/attention.h"

struct cosine_windows {
  const struct layout *a;
  int64_t width;               /* 1 .. COSINE_TILES_WIDTH */
  struct tensor message, rows; /* bf16, as struct cosine_attention or cosine_backward has them; aligned */
  const void *beta;            /* real */
  int arcs;                    /* backward: COSINE_IN | COSINE_OUT */
  float *sums;                 /* [pieces of windows, rows of a window, stride] */
  int64_t stride;
};

/* Those of a layout without tiles, or without vectors, do nothing. Errors: FAILED where messages are not of
 * bf16, wider, or not cuda_is_aligned. */
int cuda_cosine_tiles(struct kernels *k, const struct cosine_windows *op);
int cuda_cosine_tiles_backward(struct kernels *k, const struct cosine_windows *op);
int cuda_cosine_vectors(struct kernels *k, const struct cosine_windows *op);
int cuda_cosine_vectors_backward(struct kernels *k, const struct cosine_windows *op);

#ifdef __cplusplus
}
#endif

#endif
