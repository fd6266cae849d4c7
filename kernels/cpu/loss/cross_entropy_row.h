/* Cross entropy of one row: -log softmax(x)_label = log sum_j exp(x_j - max) + max - x_label; its gradient is
 * softmax(x) - one hot. */
#ifndef KERNELS_CPU_LOSS_CROSS_ENTROPY_ROW_H
#define KERNELS_CPU_LOSS_CROSS_ENTROPY_ROW_H

#include <assert.h>
#include <string.h>

#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/common/exponential.h"
#include "kernels/ops/loss.h"

/* sum_j exp(x_j - max); the terms go to `term` unless that is NULL (it may be x). */
static inline double sum_exponentials(const real *x, real max, int64_t classes, real *term) {
  double sum = 0;
  if (term) {
#pragma omp simd
    for (int64_t j = 0; j < classes; j++) term[j] = exponential(x[j] - max);
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < classes; j++) sum += (double)term[j];
  } else {
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < classes; j++) sum += (double)exponential(x[j] - max);
  }
  return sum;
}

/* The loss before op->scale; its gradient goes to `grad` unless that is NULL (it may be the logits). */
static inline double cross_entropy_row(const struct loss_op *op, int64_t v, int64_t label, real *grad) {
  const real *x = row_of(op->logits, v);
  int64_t classes = op->logits.cols;
  assert(label >= 0 && label < classes);
  real max = x[0], at_label = x[label];
  for (int64_t j = 1; j < classes; j++) max = x[j] > max ? x[j] : max;
  double sum = sum_exponentials(x, max, classes, grad);
  if (grad) {
    real share = (real)(op->scale / sum);
    for (int64_t j = 0; j < classes; j++) grad[j] *= share;
    grad[label] -= (real)op->scale;
  }
  return log(sum) + (double)max - (double)at_label;
}

/* Row v of a loss that comes along with its logits, which have just been made. */
static inline void end_in_loss(const struct loss_op *op, int64_t v) {
  real *grad = row_of(op->grad, v), *loss = (real *)op->row_loss + v;
  if (op->counted[v] < 0) {
    memset(grad, 0, (size_t)op->grad.cols * sizeof *grad);
    *loss = 0;
    return;
  }
  *loss = (real)cross_entropy_row(op, v, op->counted[v], grad);
  if (op->grad_scale) scale_row(((const real *)op->grad_scale)[v], op->grad.cols, grad);
}

#endif
