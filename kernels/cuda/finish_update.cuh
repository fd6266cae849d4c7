/* What an op on the host tells the kernels that end rows; see finish_row.cuh. */
#ifndef KERNELS_CUDA_FINISH_UPDATE_CUH
#define KERNELS_CUDA_FINISH_UPDATE_CUH

#include "kernels/cuda/finish_row.cuh"

/* Rows of t hold whole vectors of that many columns at multiples of 16 bytes. */
static inline bool is_whole_or_absent(struct tensor t, int64_t wide) {
  return !t.data || (cuda_is_aligned(t) && t.stride >= (t.cols + wide - 1) / wide * wide);
}

/* Rows of t are padded as tensor.h has it: what the gaps hold is nobody's business. */
static inline bool is_padded_or_absent(struct tensor t) {
  return !t.data || t.stride == tensor_stride(t.dtype, t.cols);
}

/* The rows end in `update`; wide: columns of a vector. */
static inline void add_update(struct finish *f, const struct update *update, int64_t wide) {
  f->out = rows_of(update->y);
  f->residual = rows_of(update->residual);
  f->whole = f->whole && is_whole_or_absent(update->y, wide) && is_whole_or_absent(update->residual, wide);
  f->fills = f->fills && f->whole && is_padded_or_absent(update->y);
  f->bias = (const float *)update->bias;
  f->gain = (const float *)update->gain;
  f->shift = (const float *)update->shift;
  f->mean = (float *)update->mean;
  f->rstd = (float *)update->rstd;
  f->epsilon = (float)update->epsilon;
  f->activation = update->activation;
  f->dropout = update->dropout;
}

#endif
