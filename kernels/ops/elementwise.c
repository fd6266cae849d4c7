#include "kernels/ops/elementwise.h"

#include <math.h>

#include "kernels/ops/gemm.h"
#include "kernels/ops/ops_check.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

struct dropout dropout_of(double rate, struct philox_key key, const int64_t *id) {
  assert(rate >= 0 && rate < 1);
  const long threshold = lround(rate * 65536);
  return (struct dropout){.key = key,
                          .threshold = (uint32_t)(threshold < 65535 ? threshold : 65535),
                          .scale = (float)(1 / (1 - rate)),
                          .id = id,
                          .wide_scale = 1 / (1 - rate)};
}

static double epilogue_bytes(const struct epilogue *op) {
  return bytes_of(op->z) + bytes_of(op->y) + bytes_of(op->residual);
}

static double epilogue_backward_bytes(const struct epilogue_backward *op) {
  return bytes_of(op->dy) + bytes_of(op->dz) + bytes_kept(op) + bytes_of(op->residual_grad);
}

int op_gather(struct kernels *k, const struct gather *op) {
  assert(is_matrix(k, op->x, op->x.rows, op->y.cols) && is_matrix(k, op->y, op->y.rows, op->y.cols));
  return RUN_OP(k, "gather", 2 * bytes_of(op->y), 0, k->ops->elementwise->gather(k, op));
}

int op_put(struct kernels *k, const struct put *op) {
  assert(op->x.dtype == k->dtype && op->x.cols > 0 && op->stride >= op->x.cols && op->peers > 0 &&
         op->blocks <= PUT_BLOCKS);
  return k->ops->elementwise->put(k, op);
}

int op_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y) {
  assert(is_matrix(k, x, y.rows, y.cols) && is_matrix(k, y, y.rows, y.cols));
  return RUN_OP(k, "dropout", bytes_of(x) + bytes_of(y), 0, k->ops->elementwise->dropout(k, x, op, y));
}

int op_epilogue(struct kernels *k, const struct epilogue *op) {
  check_epilogue(k, op, op->z.rows, op->z.cols);
  assert(!op->loss);
  return RUN_OP(k, "update", epilogue_bytes(op), 0, k->ops->elementwise->epilogue(k, op));
}

int op_epilogue_backward(struct kernels *k, const struct epilogue_backward *op) {
  check_epilogue_backward(k, op);
  assert(!op->chained_wgrad || gemm_is_gradient_of(op->dz, op->chained_wgrad));
  TRY(RUN_OP(k, "update_backward", epilogue_backward_bytes(op), 0,
             k->ops->elementwise->epilogue_backward(k, op)));
  return op->chained_wgrad ? op_gemm(k, op->chained_wgrad) : OK;
}

int op_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op) {
  assert(op->forward->norm == NORM_BATCH && op->count > 0 && op->forward->z.dtype == k->dtype);
  assert(is_matrix(k, op->dz, op->forward->z.rows, op->forward->z.cols));
  assert(op->forward->z.data != op->dz.data || op->dz.rows == 0);
  return RUN_OP(k, "batch_norm_backward", bytes_of(op->forward->z) + 2 * bytes_of(op->dz), 0,
                k->ops->elementwise->batch_norm_backward(k, op));
}

int op_batch_norm_stats(struct kernels *k, const struct batch_norm_stats *op) {
  assert(op->step == BATCH_NORM_RUNNING || op->count > 0);
  return RUN_OP(k, "batch_norm_stats", 0, 0, k->ops->elementwise->batch_norm_stats(k, op));
}

int op_column_sums(struct kernels *k, const struct column_sums *op) {
  assert(is_either_matrix(k, op->x, op->x.rows, op->x.cols));
  return RUN_OP(k, "column_sums", bytes_of(op->x), 0, k->ops->elementwise->column_sums(k, op));
}

int op_column_moments(struct kernels *k, const struct column_moments *op) {
  assert(is_either_matrix(k, op->x, op->x.rows, op->x.cols));
  return RUN_OP(k, "column_moments", bytes_of(op->x), 0, k->ops->elementwise->column_moments(k, op));
}

int op_add_all(struct kernels *k, const struct add *op, int count) {
  double bytes = 0;
  for (int i = 0; i < count; i++) {
    assert(is_either_matrix(k, op[i].x, op->y.rows, op->y.cols) && op[i].x.dtype == op->x.dtype);
    assert(is_either_matrix(k, op[i].y, op->y.rows, op->y.cols) && op[i].y.dtype == op->y.dtype);
    assert(op[i].x.data != op[i].y.data || (op->x.dtype == op->y.dtype && op[i].x.stride == op[i].y.stride));
    bytes += bytes_of(op[i].x) + (op[i].accumulate ? 2 : 1) * bytes_of(op[i].y);
  }
  return count > 0 ? RUN_OP(k, "add", bytes, 0, k->ops->elementwise->add(k, op, count)) : OK;
}

int op_add(struct kernels *k, const struct add *op) {
  return op_add_all(k, op, 1);
}

int op_dot(struct kernels *k, const struct dot *op) {
  assert(is_matrix(k, op->a, op->a.rows, op->a.cols) && is_matrix(k, op->b, op->a.rows, op->a.cols));
  return RUN_OP(k, "dot", bytes_of(op->a) + bytes_of(op->b), 0, k->ops->elementwise->dot(k, op));
}

int op_signs(struct kernels *k, const struct signs *op) {
  assert(is_matrix(k, op->x, op->x.rows, op->x.cols) && is_of_signs(op->of, op->x.rows, op->x.cols));
  return RUN_OP(k, "signs", bytes_of(op->x) + bytes_of(op->of), 0, k->ops->elementwise->signs(k, op));
}
