/* What an op on the host tells the kernels that end rows; see spmm_epilogue.cuh. */
#ifndef KERNELS_CUDA_SPMM_SPMM_EPILOGUE_OF_CUH
#define KERNELS_CUDA_SPMM_SPMM_EPILOGUE_OF_CUH

#include "kernels/cuda/spmm/spmm_epilogue.cuh"
#include "kernels/ops/loss.h"

/* Rows of t hold whole vectors of that many columns at multiples of 16 bytes. */
static inline bool is_whole_or_absent(struct tensor t, int64_t wide) {
  return !t.data || (cuda_is_aligned(t) && t.stride >= (t.cols + wide - 1) / wide * wide);
}

/* Rows of t are padded as tensor.h has it: what the gaps hold is nobody's business. */
static inline bool is_padded_or_absent(struct tensor t) {
  return !t.data || t.stride == tensor_stride(t.dtype, t.cols);
}

/* The rows end in the epilogue; wide: columns of a vector. */
static inline void add_epilogue(struct spmm_epilogue *f, const struct epilogue *epilogue, int64_t wide) {
  f->out = rows_of(epilogue->y);
  f->residual = rows_of(epilogue->residual);
  f->whole = f->whole && is_whole_or_absent(epilogue->y, wide) &&
             is_whole_or_absent(epilogue->residual, wide);
  f->fills = f->fills && f->whole && is_padded_or_absent(epilogue->y);
  f->end.bias = (const float *)epilogue->bias;
  f->end.gain = (const float *)epilogue->gain;
  f->end.shift = (const float *)epilogue->shift;
  f->end.mean = (float *)epilogue->mean;
  f->end.rstd = (float *)epilogue->rstd;
  f->end.epsilon = (float)epilogue->epsilon;
  f->end.activation = epilogue->activation;
  f->end.dropout = epilogue->dropout;
  f->end.round[0] = epilogue->dropout.key;
  for (int round = 1; round < PHILOX_ROUNDS; round++)
    f->end.round[round] = philox_next(f->end.round[round - 1]);
}

/* The rows end in `loss`. */
static inline void add_loss(struct spmm_epilogue *f, const struct loss_op *loss, int64_t wide) {
  f->loss.label = loss->counted;
  f->loss.grad_scale = (const float *)loss->grad_scale;
  f->loss.of_row = (float *)loss->row_loss;
  f->loss.grad = rows_of(loss->grad);
  f->loss.scale = (float)loss->scale;
  f->loss.whole = is_whole_or_absent(loss->grad, wide);
  f->loss.fills = f->loss.whole && is_padded_or_absent(loss->grad);
}

#endif
