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

/* Of the rows of a product, without op->epilogue. */
static inline struct spmm_epilogue spmm_epilogue_of(struct kernels *k, const struct spmm *op) {
  const int64_t wide = 16 / dtype_bytes(op->x.dtype);
  const bool signs = op->below && op->below->signs.data;
  const struct tensor kept = op->below && !signs ? op->below->forward->y : tensor_of(NULL, op->x.dtype, 0, 0);
  struct spmm_epilogue f = {};
  f.below.scale = 1;
  f.y = f.out = rows_of(op->y);
  f.sums = op->sums.data ? rows_of(op->sums) : f.y;
  f.self = rows_of(op->self);
  f.added = rows_of(op->added);
  f.below.kept = rows_of(kept);
  if (signs) f.below.signs = rows_of(op->below->signs);
  if (op->below && op->below->forward->dropout.threshold > 0)
    f.below.scale = op->below->forward->dropout.scale;
  f.width = (int32_t)op->y.cols;
  f.accumulate = op->accumulate != 0;
  f.whole = is_whole_or_absent(op->y, wide) && is_whole_or_absent(op->sums, wide) &&
            is_whole_or_absent(op->added, wide) && is_whole_or_absent(kept, wide) &&
            (!op->self_scale || is_whole_or_absent(op->self, wide));
  f.fills = f.whole && is_padded_or_absent(op->y) && is_padded_or_absent(op->sums);
  f.narrow = op->y.dtype == op->x.dtype;
  f.self_scale = (const float *)op->self_scale;
  f.self_col_scale = (const float *)op->self_col_scale;
  f.row_scale = (const float *)op->row_scale;
  f.has_halo = op->has_halo;
  f.end.scalars = k->scalars;
  return f;
}

/* The same with it. */
static inline struct spmm_epilogue with_epilogue(const struct spmm_epilogue *bare, const struct spmm *op) {
  const int64_t wide = 16 / dtype_bytes(op->x.dtype);
  struct spmm_epilogue f = *bare;
  add_epilogue(&f, op->epilogue, wide);
  if (op->epilogue->loss) add_loss(&f, op->epilogue->loss, wide);
  return f;
}

#endif
