#include "kernels/ops/loss.h"

#include "kernels/ops/ops_check.h"
#include "runtime/profile/profile.h"

int loss_fits(const struct kernels *k, const struct loss_op *op) {
  return is_real(k, op->logits, op->logits.rows, op->logits.cols) &&
         is_absent_or_matrix(k, op->grad, op->logits.rows, op->logits.cols) && op->count >= 0 &&
         op->count <= op->logits.rows;
}

/* Logits of the rows that count, and where a gradient is wanted all of its rows. */
static double loss_bytes(const struct loss_op *op) {
  const double row = (double)(op->logits.cols * dtype_bytes(op->logits.dtype));
  return (double)op->count * row + bytes_of(op->grad);
}

static double score_bytes(const struct score *op) {
  return (double)op->count * (double)(op->logits.cols * dtype_bytes(op->logits.dtype));
}

int op_cross_entropy(struct kernels *k, const struct loss_op *op) {
  assert(loss_fits(k, op));
  assert(op->label || op->count == 0);
  return RUN_OP(k, "cross_entropy", loss_bytes(op), 0, k->ops->loss->cross_entropy(k, op));
}

int op_bce(struct kernels *k, const struct loss_op *op) {
  assert(loss_fits(k, op));
  assert(op->labels || op->count == 0);
  return RUN_OP(k, "bce", loss_bytes(op), 0, k->ops->loss->bce(k, op));
}

int op_sum_losses(struct kernels *k, const struct loss_op *op) {
  assert(op->row_loss || op->logits.rows == 0);
  return RUN_OP(k, "sum_losses", (double)(op->count * dtype_bytes(k->real)), 0,
                k->ops->loss->sum_losses(k, op));
}

int op_accuracy(struct kernels *k, const struct score *op) {
  assert(is_real(k, op->logits, op->logits.rows, op->logits.cols) && (op->label || op->count == 0));
  return RUN_OP(k, "accuracy", score_bytes(op), 0, k->ops->loss->accuracy(k, op));
}

int op_micro_f1(struct kernels *k, const struct score *op) {
  assert(is_real(k, op->logits, op->logits.rows, op->logits.cols) && (op->labels || op->count == 0));
  return RUN_OP(k, "micro_f1", score_bytes(op), 0, k->ops->loss->micro_f1(k, op));
}
