/* -log softmax(x)_label = log sum_j exp(x_j - max) + max - x_label; its gradient is softmax(x) - one hot. */
#include <assert.h>

#include "kernels/cpu/loss_rows.h"
#include "runtime/error.h"

static double cross_entropy_row(const struct loss_op *op, int64_t v, real *grad) {
  const real *x = row_of(op->logits, v);
  int64_t classes = op->logits.cols, label = op->label[v];
  assert(label >= 0 && label < classes);
  real max = x[0], at_label = x[label];
  for (int64_t j = 1; j < classes; j++) max = x[j] > max ? x[j] : max;
  double sum = 0;
  for (int64_t j = 0; j < classes; j++) {
    real e = real_exp(x[j] - max);
    sum += (double)e;
    if (grad) grad[j] = e;
  }
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
