/* -log softmax(x)_label = log sum_j exp(x_j - max) + max - x_label; its gradient is softmax(x) - one hot. */
#include <assert.h>

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/loss_rows.h"
#include "runtime/error.h"

/* sum_j exp(x_j - max); the terms go to `term` unless that is NULL (it may be x). */
static double sum_exponentials(const real *x, real max, int64_t classes, real *term) {
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

static double cross_entropy_row(const struct loss_op *op, int64_t v, real *grad) {
  const real *x = row_of(op->logits, v);
  int64_t classes = op->logits.cols, label = op->label[v];
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

int REAL(cpu_cross_entropy)(struct kernels *k, const struct loss_op *op) {
  return REAL(cpu_loss_rows)(k, op, cross_entropy_row);
}
