/* The epilogue of a product, as kernels take it, from the op. */
#ifndef KERNELS_CUDA_GEMM_GEMM_EPILOGUE_OF_CUH
#define KERNELS_CUDA_GEMM_GEMM_EPILOGUE_OF_CUH

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/gemm_epilogue.cuh"

/* Sums of columns in the epilogue of a product, from kernels that leave some of each block: how many there
 * are of each column; room for them in the workspace; and what becomes of them. */
int cuda_sums_wanted(const struct gemm *op, const struct gemm_epilogue *e);
int cuda_sums_begin(struct kernels *k, const struct gemm *op, int64_t blocks, struct gemm_epilogue *e);
int cuda_sums_end(struct kernels *k, const struct gemm *op, int64_t blocks, const struct gemm_epilogue *e);

static bool are_aligned(const struct gemm_epilogue *e) {
  return cuda_is_aligned(e->c) && cuda_is_aligned(e->out) && (!e->saved.data || cuda_is_aligned(e->saved));
}

static enum epilogue_kind kind_of_norm(const struct gemm_epilogue *e) {
  if (e->activation != ACTIVATION_RELU || e->dropout.threshold > 0 || e->scale || e->bias || !e->norm.gain ||
      !e->norm.shift)
    return EPILOGUE_APART;
  return e->norm.sum_dn ? EPILOGUE_NORM_APPLY : EPILOGUE_NORM_SUMS;
}

static enum epilogue_kind kind_of(const struct gemm_epilogue *e) {
  const bool relu = e->activation == ACTIVATION_RELU, drops = e->dropout.threshold > 0;
  if (!are_aligned(e)) return EPILOGUE_APART;
  if (e->norm.mean) return kind_of_norm(e);
  if (e->scale && !e->backward && (relu || drops)) return EPILOGUE_APART;
  if (e->backward) return relu ? EPILOGUE_BACKWARD_RELU : EPILOGUE_APART;
  if (relu) return EPILOGUE_FORWARD;
  return e->activation == ACTIVATION_NONE && !drops ? EPILOGUE_PLAIN : EPILOGUE_APART;
}

/* What no kernel does along with a product: to keep z where y is written, a residual, sums with what C held.
 */
static bool is_apart(const struct gemm *op) {
  const struct epilogue *epilogue = op->backward ? op->backward->forward : op->epilogue;
  if (!epilogue) return false;
  if (op->accumulate) return true;
  if (op->epilogue) return epilogue->y.data != op->c.data || epilogue->residual.data;
  return op->backward->residual_grad.data ||
         (epilogue->norm != NORM_BATCH && epilogue->y.data != epilogue->z.data);
}

static struct norm_epilogue norm_of(const struct gemm *op) {
  const struct epilogue *epilogue = op->backward->forward;
  struct norm_epilogue norm = {};
  norm.mean = (const float *)epilogue->mean;
  norm.rstd = (const float *)epilogue->rstd;
  norm.gain = (const float *)epilogue->gain;
  norm.shift = (const float *)epilogue->shift;
  if (!op->norm) return norm;
  norm.sum_dn = (const float *)op->norm->sum_dn;
  norm.sum_dn_xhat = (const float *)op->norm->sum_dn_xhat;
  norm.share = (float)(1 / (double)op->norm->count);
  return norm;
}

static struct gemm_epilogue gemm_epilogue_of(const struct kernels *k, const struct gemm *op) {
  struct gemm_epilogue e = {};
  const struct epilogue *epilogue = op->backward ? op->backward->forward : op->epilogue;
  e.c = e.out = op->c;
  e.scalars = k->scalars;
  if (epilogue) {
    e.activation = epilogue->activation;
    e.dropout = epilogue->dropout;
    e.bias = (const float *)epilogue->bias;
  }
  if (op->epilogue) {
    e.out = epilogue->y;
    e.scale = (const float *)epilogue->scale;
  }
  if (op->backward) {
    e.backward = true;
    e.out = op->backward->dz;
    e.saved = epilogue->z;
    e.scale = (const float *)op->backward->scale;
    if (epilogue->y.data == epilogue->z.data) e.bias = NULL;
  }
  if (op->backward && epilogue->norm == NORM_BATCH) e.norm = norm_of(op);
  e.sums_alone = op->sums_alone;
  e.kind = is_apart(op) ? EPILOGUE_APART : kind_of(&e);
  if (op->accumulate && e.kind == EPILOGUE_PLAIN) e.kind = EPILOGUE_ADD;
  if (op->moments) e.kind = e.kind == EPILOGUE_PLAIN ? EPILOGUE_MOMENTS : EPILOGUE_APART;
  return e;
}

#endif
