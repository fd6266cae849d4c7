#include "kernels/ops/optimizer.h"

#include "kernels/ops/ops_check.h"
#include "runtime/profile/profile.h"

int op_advance(struct kernels *k, const double *rate, int64_t rates) {
  assert(rates > 0);
  return RUN_OP(k, "advance", 0, 0, k->ops->optimizer->advance(k, rate, rates));
}

int op_sum_squares(struct kernels *k, const void *x, int64_t count) {
  assert(count >= 0);
  return RUN_OP(k, "sum_squares", (double)(count * dtype_bytes(k->real)), 0,
                k->ops->optimizer->sum_squares(k, x, count));
}

int op_optimizer(struct kernels *k, const struct optimizer_op *op) {
  assert(op->decay_end >= 0 && op->decay_end <= op->count);
  assert(op->group_begin >= 0 && op->group_begin <= op->group_end && op->group_end <= op->count);
  assert(k->dtype == k->real ? !op->copy : op->copy || op->count == 0);
  assert(op->optimizer == OPTIMIZER_SGD || op->v || op->count == 0);
  return RUN_OP(k, "optimizer", 7 * (double)(op->count * dtype_bytes(k->real)), 0,
                k->ops->optimizer->optimizer(k, op));
}
