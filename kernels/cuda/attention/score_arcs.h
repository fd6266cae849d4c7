/* The kernels of SDDMM beside the general one, each for what it is faster at. Rows of x and y lie at
 * multiples of 16 bytes. */
#ifndef KERNELS_CUDA_ATTENTION_SCORE_ARCS_H
#define KERNELS_CUDA_ATTENTION_SCORE_ARCS_H

#include "kernels/cuda/attention/attention_row.cuh"

struct score_arcs {
  struct packed_row_segments row_segment;
  int64_t row_segments; /* fewer than 2^31 */
  const int32_t *col, *piece_row;
  struct rows x, y;
  int32_t width;
  float *scores;
};

/* Short rows of x and y of more than 64 and up to 512 bytes. */
int cuda_sddmm_stream_f32(struct kernels *k, const struct score_arcs *op);
int cuda_sddmm_stream_bf16(struct kernels *k, const struct score_arcs *op);

/* Many entries a row; up to 32 columns of bf16, a multiple of 8. */
int cuda_sddmm_dense(struct kernels *k, const struct score_arcs *op);

#endif
