/* -(t log s + (1 - t) log(1 - s)) with s = sigmoid(x) is max(x, 0) - x t + log(1 + exp(-|x|)); its gradient
 * is s - t. Mean over the classes. */
#include "kernels/cpu/loss/loss_rows.h"
#include "runtime/base/error.h"

static double bce_row(const struct loss_op *op, int64_t v, real *grad) {
  const real *x = row_of(op->logits, v);
  int64_t classes = op->logits.cols;
  const uint8_t *label = op->labels + v * classes;
  double sum = 0;
  for (int64_t j = 0; j < classes; j++) {
    double xj = (double)x[j], e = exp(-fabs(xj));
    sum += (xj > 0 ? xj : 0) - xj * label[j] + log1p(e);
    if (grad) grad[j] = (real)(op->scale / (double)classes * ((xj > 0 ? 1 : e) / (1 + e) - label[j]));
  }
  return sum / (double)classes;
}

int REAL(cpu_bce)(struct kernels *k, const struct loss_op *op) {
  return REAL(cpu_loss_rows)(k, op, bce_row);
}
