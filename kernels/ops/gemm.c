#include "kernels/ops/gemm.h"

#include "kernels/ops/ops_check.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

static double gemm_flops(const struct gemm *op) {
  int64_t terms = (op->transpose_a ? op->a.rows : op->a.cols) + (op->a2.data ? op->a2.cols : 0);
  return 2 * (double)op->c.rows * (double)op->c.cols * (double)terms;
}

/* What follows backward leaves out one matrix that is written otherwise and reads another one; what goes
 * beside reads nothing more, nor does what follows forward. */
struct op_work gemm_work(const struct gemm *op, int took) {
  const struct gemm *chained_wgrad = op->backward ? op->backward->chained_wgrad : NULL;
  const struct gemm *beside[] = {op->fused_wgrad, op->fused_wgrad2};
  struct op_work work = {bytes_of(op->a) + bytes_of(op->b) + bytes_of(op->a2) + bytes_of(op->b2) +
                             bytes_of(op->c),
                         gemm_flops(op)};
  if (op->backward) work.bytes += bytes_of(op->backward->forward->z);
  if (took & FUSED_CHAINED_GEMM) {
    work.bytes += bytes_of(op->chained->b) + bytes_of(op->chained->c);
    work.flops += gemm_flops(op->chained);
  }
  if (took & FUSED_CHAINED_WGRAD) {
    work.bytes += bytes_of(chained_wgrad->a) + bytes_of(chained_wgrad->c) - bytes_of(op->c);
    work.flops += gemm_flops(chained_wgrad);
  }
  for (int i = 0; i < 2 && took & FUSED_WGRAD; i++) {
    if (!beside[i]) continue;
    work.bytes += bytes_of(beside[i]->c);
    work.flops += gemm_flops(beside[i]);
  }
  return work;
}

/* *took: what was multiplied along with it. */
static int multiply(struct kernels *k, const struct gemm *op, int *took) {
  const struct gemm *chained_wgrad = op->backward ? op->backward->chained_wgrad : NULL;
  const struct op_work before = k->work;
  if ((chained_wgrad || op->fused_wgrad || op->fused_wgrad2 || op->chained) && k->ops->gemm->gemm_fused)
    TRY(k->ops->gemm->gemm_fused(k, op, took));
  if (!*took) return k->ops->gemm->gemm(k, op);
  const struct op_work all = gemm_work(op, *took);
  profile_work(all.bytes - before.bytes, all.flops - before.flops);
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
  const struct epilogue_backward *backward = op->backward;
  assert(!op->moments || (!op->epilogue && !backward && op->moments->x.data == op->c.data));
  assert(!(op->sums_alone || op->norm) ||
         (backward->forward->norm == NORM_BATCH && !backward->chained_wgrad));
  assert(!op->norm || (!op->sums_alone && op->norm->forward == backward->forward && op->norm->count > 0 &&
                       op->norm->dz.data == op->c.data && backward->dz.data == op->c.data &&
                       !backward->shift_grad && !backward->gain_grad && !backward->bias_grad));
}

static void check_chained(const struct gemm *op) {
  const struct gemm *chained = op->chained;
  assert(op->epilogue && chained->a.data == op->epilogue->y.data && chained->a.cols == op->epilogue->y.cols);
  assert(chained->a.stride == op->epilogue->y.stride && chained->a.rows == op->c.rows &&
         !chained->transpose_a);
  assert(!chained->a2.data && !chained->accumulate && !chained->backward && !chained->moments &&
         !chained->chained);
  assert((chained->c.data != op->epilogue->y.data && chained->c.data != op->a.data) || op->c.rows == 0);
}

int64_t gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols) {
  return k->ops->gemm->gemm_workspace ? k->ops->gemm->gemm_workspace(k, rows, cols) : 0;
}

int gemm_is_gradient_of(struct tensor dz, const struct gemm *op) {
  return op->transpose_a && !op->transpose_b && op->b.data == dz.data && op->b.cols == dz.cols &&
         !op->fused_wgrad && !op->a2.data && !op->fused_wgrad2 && !op->factor && !op->moments;
}

int op_gemm_repeats(const struct kernels *k, const struct gemm *op) {
  return op->backward && op->backward->forward->norm == NORM_BATCH && k->ops->gemm->gemm_repeats &&
         k->ops->gemm->gemm_repeats(k, op);
}

int op_gemm(struct kernels *k, const struct gemm *op) {
  const struct gemm *chained_wgrad = op->backward ? op->backward->chained_wgrad : NULL;
  int took = 0;
  int64_t inner = op->transpose_a ? op->a.rows : op->a.cols;
  assert(is_either_matrix(k, op->c, op->transpose_a ? op->a.cols : op->a.rows,
                          op->transpose_b ? op->b.rows : op->b.cols));
  assert(inner == (op->transpose_b ? op->b.cols : op->b.rows));
  assert(is_matrix(k, op->a, op->a.rows, op->a.cols) && is_matrix(k, op->b, op->b.rows, op->b.cols));
  if (op->epilogue) {
    check_epilogue(k, op->epilogue, op->c.rows, op->c.cols);
    assert(op->epilogue->norm != NORM_BATCH && op->epilogue->z.data == op->c.data && !op->epilogue->loss);
  }
  if (op->backward) {
    check_epilogue_backward(k, op->backward);
    assert(op->backward->dy.data == op->c.data && op->c.dtype == k->dtype && !op->epilogue);
    assert(!chained_wgrad || gemm_is_gradient_of(op->backward->dz, chained_wgrad));
  }
  assert(!op->fused_wgrad || (op->transpose_b && gemm_is_gradient_of(op->a, op->fused_wgrad)));
  assert(!op->fused_wgrad2 || (op->transpose_b && gemm_is_gradient_of(op->a2, op->fused_wgrad2)));
  assert(!op->factor || op->transpose_a);
  if (op->a2.data) check_second(k, op);
  if (op->chained) check_chained(op);
  check_batch_norm(op);
  const struct op_work work = gemm_work(op, 0);
  TRY(RUN_OP(k, "gemm", work.bytes, work.flops, multiply(k, op, &took)));
  if (op->fused_wgrad && !(took & FUSED_WGRAD)) TRY(op_gemm(k, op->fused_wgrad));
  if (op->fused_wgrad2 && !(took & FUSED_WGRAD)) TRY(op_gemm(k, op->fused_wgrad2));
  if (op->chained && !(took & FUSED_CHAINED_GEMM)) TRY(op_gemm(k, op->chained));
  return chained_wgrad && !(took & FUSED_CHAINED_WGRAD) ? op_gemm(k, chained_wgrad) : OK;
}
