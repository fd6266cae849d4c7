/* Losses and scores, and the step of the optimiser. */
#include "kernels/ops/ops_check.h"
#include "runtime/profile/profile.h"

int op_cross_entropy(struct kernels *k, const struct loss_op *op) {
  check_loss(k, op);
  assert(op->label || op->count == 0);
  return PROFILE("cross_entropy", k->ops->cross_entropy(k, op));
}

int op_bce(struct kernels *k, const struct loss_op *op) {
  check_loss(k, op);
  assert(op->labels || op->count == 0);
  return PROFILE("bce", k->ops->bce(k, op));
}

int op_sum_losses(struct kernels *k, const struct loss_op *op) {
  assert(op->row_loss || op->logits.rows == 0);
  return PROFILE("sum_losses", k->ops->sum_losses(k, op));
}

int op_accuracy(struct kernels *k, const struct score *op) {
  assert(is_real_matrix(k, op->logits, op->logits.rows, op->logits.cols) && (op->label || op->count == 0));
  return PROFILE("accuracy", k->ops->accuracy(k, op));
}

int op_micro_f1(struct kernels *k, const struct score *op) {
  assert(is_real_matrix(k, op->logits, op->logits.rows, op->logits.cols) && (op->labels || op->count == 0));
  return PROFILE("micro_f1", k->ops->micro_f1(k, op));
}

int op_advance(struct kernels *k, const double *rate, int64_t rates) {
  assert(rates > 0);
  return PROFILE("advance", k->ops->advance(k, rate, rates));
}

int op_sum_squares(struct kernels *k, const void *x, int64_t count) {
  assert(count >= 0);
  return PROFILE("sum_squares", k->ops->sum_squares(k, x, count));
}

int op_optimizer(struct kernels *k, const struct optimizer_op *op) {
  assert(op->decay_end >= 0 && op->decay_end <= op->count);
  assert(op->group_begin >= 0 && op->group_begin <= op->group_end && op->group_end <= op->count);
  assert(k->dtype == k->real ? !op->copy : op->copy || op->count == 0);
  assert(op->optimizer == OPTIMIZER_SGD || op->v || op->count == 0);
  return PROFILE("optimizer", k->ops->optimizer(k, op));
}
