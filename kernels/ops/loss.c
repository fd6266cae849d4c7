#include "kernels/ops/loss.h"

#include "kernels/ops/ops_check.h"
#include "runtime/profile/profile.h"

int loss_fits(const struct kernels *k, const struct loss_op *op) {
  return is_real(k, op->logits, op->logits.rows, op->logits.cols) &&
         is_absent_or_matrix(k, op->grad, op->logits.rows, op->logits.cols) && op->count >= 0 &&
         op->count <= op->logits.rows;
}

int op_cross_entropy(struct kernels *k, const struct loss_op *op) {
  assert(loss_fits(k, op));
  assert(op->label || op->count == 0);
  return PROFILE("cross_entropy", k->ops->loss->cross_entropy(k, op));
}

int op_bce(struct kernels *k, const struct loss_op *op) {
  assert(loss_fits(k, op));
  assert(op->labels || op->count == 0);
  return PROFILE("bce", k->ops->loss->bce(k, op));
}

int op_sum_losses(struct kernels *k, const struct loss_op *op) {
  assert(op->row_loss || op->logits.rows == 0);
  return PROFILE("sum_losses", k->ops->loss->sum_losses(k, op));
}

int op_accuracy(struct kernels *k, const struct score *op) {
  assert(is_real(k, op->logits, op->logits.rows, op->logits.cols) && (op->label || op->count == 0));
  return PROFILE("accuracy", k->ops->loss->accuracy(k, op));
}

int op_micro_f1(struct kernels *k, const struct score *op) {
  assert(is_real(k, op->logits, op->logits.rows, op->logits.cols) && (op->labels || op->count == 0));
  return PROFILE("micro_f1", k->ops->loss->micro_f1(k, op));
}
