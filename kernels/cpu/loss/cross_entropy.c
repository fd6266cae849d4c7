#include "kernels/cpu/loss/cross_entropy_row.h"
#include "kernels/cpu/loss/loss_rows.h"
#include "runtime/base/error.h"

static double labelled_row(const struct loss_op *op, int64_t v, real *grad) {
  return cross_entropy_row(op, v, op->label[v], grad);
}

int REAL(cpu_cross_entropy)(struct kernels *k, const struct loss_op *op) {
  return REAL(cpu_loss_rows)(k, op, labelled_row);
}
