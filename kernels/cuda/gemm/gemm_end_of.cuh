/* The end of a product, as kernels take it, from the op. */
#ifndef KERNELS_CUDA_GEMM_GEMM_END_OF_CUH
#define KERNELS_CUDA_GEMM_GEMM_END_OF_CUH

#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/gemm_end.cuh"

/* Sums of columns at the end of a product, from kernels that leave some of each block: how many there are of
 * each column; room for them in the workspace; and what becomes of them. */
int cuda_sums_wanted(const struct gemm *op, const struct end *e);
int cuda_sums_begin(struct kernels *k, const struct gemm *op, int64_t blocks, struct end *e);
int cuda_sums_end(struct kernels *k, const struct gemm *op, int64_t blocks, const struct end *e);

static bool are_aligned(const struct end *e) {
  const struct tensor *all[] = {&e->c, &e->out, &e->residual, &e->saved};
  for (int i = 0; i < 4; i++) {
    if (all[i]->data && !cuda_is_aligned(*all[i])) return false;
  }
  return true;
}

static enum end_kind kind_of_norm(const struct end *e) {
  if (e->activation != ACTIVATION_RELU || e->dropout.threshold > 0 || e->scale || e->bias || !e->norm.gain ||
      !e->norm.shift)
    return END_ANY;
  return e->norm.sum_dn ? END_NORM_APPLY : END_NORM_SUMS;
}

static enum end_kind kind_of(const struct end *e) {
  const bool relu = e->activation == ACTIVATION_RELU, drops = e->dropout.threshold > 0;
  if (!e->aligned || e->accumulate || e->keep || e->residual.data) return END_ANY;
  if (e->norm.mean) return kind_of_norm(e);
  if (e->scale && !e->backward && (relu || drops)) return END_ANY;
  if (e->backward) return relu && e->from_y ? END_BACKWARD_RELU : END_ANY;
  if (relu) return END_FORWARD;
  return e->activation == ACTIVATION_NONE && !drops ? END_PLAIN : END_ANY;
}

static struct norm_end norm_of(const struct gemm *op) {
  const struct update *update = op->backward->forward;
  struct norm_end norm = {};
  norm.mean = (const float *)update->mean;
  norm.rstd = (const float *)update->rstd;
  norm.gain = (const float *)update->gain;
  norm.shift = (const float *)update->shift;
  if (!op->norm) return norm;
  norm.sum_dn = (const float *)op->norm->sum_dn;
  norm.sum_dn_xhat = (const float *)op->norm->sum_dn_xhat;
  norm.share = (float)(1 / (double)op->norm->count);
  return norm;
}

static struct end end_of(const struct kernels *k, const struct gemm *op) {
  struct end e = {};
  const struct update *update = op->backward ? op->backward->forward : op->update;
  e.c = e.out = op->c;
  e.accumulate = op->accumulate;
  e.scalars = k->scalars;
  if (update) {
    e.activation = update->activation;
    e.dropout = update->dropout;
    e.bias = (const float *)update->bias;
  }
  if (op->update) {
    e.out = update->y;
    e.residual = update->residual;
    e.scale = (const float *)update->scale;
    e.keep = update->y.data != op->c.data;
  }
  if (op->backward) {
    e.backward = true;
    e.out = op->backward->dz;
    e.residual = op->backward->residual_grad;
    e.saved = update->z;
    e.scale = (const float *)op->backward->scale;
    e.from_y = update->y.data == update->z.data;
    if (e.from_y) e.bias = NULL;
  }
  if (op->backward && update->norm == NORM_BATCH) e.norm = norm_of(op);
  e.sums_alone = op->sums_alone;
  e.aligned = are_aligned(&e);
  e.kind = kind_of(&e);
  if (op->moments) e.kind = e.kind == END_PLAIN ? END_MOMENTS : END_ANY;
  return e;
}

#endif
