/* The arcs of attention by terms that lie in dense tiles (kernels/format/tiles.h), summed on tensor cores. Of
 * each piece of a window and each of its rows are left what a piece of a long row leaves (write_piece): both
 * sums of all columns, and three numbers a head. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_H
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_H

#include "kernels/cuda/layout/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forward weights are relative to exp(max), where max is a number of the row; backward absolute. */
struct attention_tiles {
  const struct layout *a;
  int backward;
  int64_t heads, width; /* columns of all heads together */
  struct tensor x;      /* bf16 [a.cols, width], or [a.cols, width / heads] for all heads; cuda_is_aligned */
  struct tensor stats;  /* real: [a.cols, heads] term; or [a.cols, 3 heads] row_term, log_sum, delta */
  struct tensor mine;   /* real [rows, heads] */
  float factor;         /* of both sums */
  float *sums;          /* [pieces of windows, TILE_ROWS, stride] */
  int64_t stride;       /* from partial_columns(width) on the numbers stand behind the two sums */
  float *terms;         /* scratch, cuda_attention_tiles_terms floats */
};

/* Floats of scratch, a multiple of 4: the terms of all columns as tiles read them. */
int64_t cuda_attention_tiles_terms(const struct layout *a, int64_t heads);
int cuda_attention_tiles(struct kernels *k, const struct attention_tiles *op);

#ifdef __cplusplus
}
#endif

#endif
