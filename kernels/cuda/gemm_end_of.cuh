/* The end of a product, as kernels take it, from the op. */
#ifndef KERNELS_CUDA_GEMM_END_OF_CUH
#define KERNELS_CUDA_GEMM_END_OF_CUH

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/gemm_end.cuh"

static bool are_aligned(const struct end *e) {
  const struct tensor *all[] = {&e->c, &e->out, &e->residual, &e->saved};
  for (int i = 0; i < 4; i++) {
    if (all[i]->data && !cuda_is_aligned(*all[i])) return false;
  }
  return true;
}

static enum end_kind kind_of(const struct end *e) {
  const bool relu = e->activation == ACTIVATION_RELU, drops = e->dropout.threshold > 0;
  if (!e->aligned || e->accumulate || e->keep || e->residual.data) return END_ANY;
  if (e->scale && !e->backward && (relu || drops)) return END_ANY;
  if (e->backward) return relu && e->from_y ? END_BACKWARD_RELU : END_ANY;
  if (relu) return drops ? END_RELU_DROPOUT : END_RELU;
  return e->activation == ACTIVATION_NONE && !drops ? END_PLAIN : END_ANY;
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
  e.aligned = are_aligned(&e);
  e.kind = kind_of(&e);
  return e;
}

#endif
