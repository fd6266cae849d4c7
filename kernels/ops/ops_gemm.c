/* op_gemm, and what a product takes along. */
#include "kernels/ops/ops_check.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

static double gemm_flops(const struct gemm *op) {
  int64_t terms = (op->transpose_a ? op->a.rows : op->a.cols) + (op->a2.data ? op->a2.cols : 0);
  return 2 * (double)op->c.rows * (double)op->c.cols * (double)terms;
}

/* *took: what was multiplied along with it. What follows backward leaves out one matrix that is written
 * otherwise and reads another one; what goes beside reads nothing more, nor does what follows forward. */
static int multiply(struct kernels *k, const struct gemm *op, int *took) {
  const struct gemm *then = op->backward ? op->backward->then : NULL;
  if ((then || op->beside || op->beside2 || op->next) && k->ops->gemm_along)
    TRY(k->ops->gemm_along(k, op, took));
  if (!*took) return k->ops->gemm(k, op);
  if (*took & ALONG_NEXT) profile_work(bytes_of(op->next->b) + bytes_of(op->next->c), gemm_flops(op->next));
  if (*took & ALONG_THEN)
    profile_work(bytes_of(then->a) + bytes_of(then->c) - bytes_of(op->c), gemm_flops(then));
  const struct gemm *beside[] = {op->beside, op->beside2};
  for (int i = 0; i < 2 && *took & ALONG_BESIDE; i++)
    if (beside[i]) profile_work(bytes_of(beside[i]->c), gemm_flops(beside[i]));
  return OK;
}

/* A2 op(B2) fits to C, which has as many rows as A. */
static void check_second(const struct kernels *k, const struct gemm *op) {
  const int64_t terms = op->transpose_b ? op->b2.cols : op->b2.rows;
  assert(!op->transpose_a && is_matrix(k, op->a2, op->c.rows, terms));
  assert(is_matrix(k, op->b2, op->transpose_b ? op->c.cols : terms, op->transpose_b ? terms : op->c.cols));
  assert(op->a2.data != op->c.data || op->c.rows == 0);
}

static void check_batch_norm(const struct gemm *op) {
  const struct update_backward *backward = op->backward;
  assert(!op->moments || (!op->update && !backward && op->moments->x.data == op->c.data));
  assert(!(op->sums_alone || op->norm) || (backward->forward->norm == NORM_BATCH && !backward->then));
  assert(!op->norm || (!op->sums_alone && op->norm->forward == backward->forward && op->norm->count > 0 &&
                       op->norm->dz.data == op->c.data && backward->dz.data == op->c.data &&
                       !backward->shift_grad && !backward->gain_grad && !backward->bias_grad));
}

static void check_next(const struct gemm *op) {
  const struct gemm *next = op->next;
  assert(op->update && next->a.data == op->update->y.data && next->a.cols == op->update->y.cols);
  assert(next->a.stride == op->update->y.stride && next->a.rows == op->c.rows && !next->transpose_a);
  assert(!next->a2.data && !next->accumulate && !next->backward && !next->moments && !next->next);
  assert((next->c.data != op->update->y.data && next->c.data != op->a.data) || op->c.rows == 0);
}

int op_gemm_repeats(const struct kernels *k, const struct gemm *op) {
  return op->backward && op->backward->forward->norm == NORM_BATCH && k->ops->gemm_repeats &&
         k->ops->gemm_repeats(k, op);
}

int op_gemm(struct kernels *k, const struct gemm *op) {
  const struct gemm *then = op->backward ? op->backward->then : NULL;
  int took = 0;
  int64_t inner = op->transpose_a ? op->a.rows : op->a.cols;
  assert(is_either_matrix(k, op->c, op->transpose_a ? op->a.cols : op->a.rows,
                          op->transpose_b ? op->b.rows : op->b.cols));
  assert(inner == (op->transpose_b ? op->b.cols : op->b.rows));
  assert(is_matrix(k, op->a, op->a.rows, op->a.cols) && is_matrix(k, op->b, op->b.rows, op->b.cols));
  if (op->update) {
    check_update(k, op->update, op->c.rows, op->c.cols);
    assert(op->update->norm != NORM_BATCH && op->update->z.data == op->c.data && !op->update->loss);
  }
  if (op->backward) {
    check_update_backward(k, op->backward);
    assert(op->backward->dy.data == op->c.data && op->c.dtype == k->dtype && !op->update);
    assert(!then || is_gradient_of(op->backward->dz, then));
  }
  assert(!op->beside || (op->transpose_b && is_gradient_of(op->a, op->beside)));
  assert(!op->beside2 || (op->transpose_b && is_gradient_of(op->a2, op->beside2)));
  assert(!op->factor || op->transpose_a);
  if (op->a2.data) check_second(k, op);
  if (op->next) check_next(op);
  check_batch_norm(op);
  double bytes = bytes_of(op->a) + bytes_of(op->b) + bytes_of(op->a2) + bytes_of(op->b2) + bytes_of(op->c);
  if (op->backward) bytes += bytes_of(op->backward->forward->z);
  TRY(PROFILE_WORK("gemm", bytes, gemm_flops(op), multiply(k, op, &took)));
  if (op->beside && !(took & ALONG_BESIDE)) TRY(op_gemm(k, op->beside));
  if (op->beside2 && !(took & ALONG_BESIDE)) TRY(op_gemm(k, op->beside2));
  if (op->next && !(took & ALONG_NEXT)) TRY(op_gemm(k, op->next));
  return then && !(took & ALONG_THEN) ? op_gemm(k, then) : OK;
}
