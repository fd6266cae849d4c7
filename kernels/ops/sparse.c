#include "kernels/ops/sparse.h"

#include "kernels/format/layout.h"
#include "kernels/ops/loss.h"
#include "kernels/ops/ops_check.h"
#include "runtime/profile/profile.h"

int layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                struct layout **layout) {
  struct layout_plan known = plan ? *plan : (struct layout_plan){.tiers = LAYOUT_GATHER};
  if (known.vector_threshold == 0) known.vector_threshold = VECTOR_THRESHOLD;
  return k->ops->sparse->layout_init(k, m, &known, layout);
}

int layout_share(struct kernels *k, const struct layout *from, struct layout **layout) {
  return k->ops->sparse->layout_share(k, from, layout);
}

void layout_free(struct kernels *k, struct layout *layout) {
  if (layout) k->ops->sparse->layout_free(k, layout);
}

int64_t spmm_workspace(const struct kernels *k, const struct spmm *op) {
  return k->ops->sparse->spmm_workspace ? k->ops->sparse->spmm_workspace(op) : 0;
}

/* Sparse products have scales of their own. */
static void check_spmm_epilogue(const struct kernels *k, const struct spmm *op) {
  const struct loss_op *loss = op->epilogue->loss;
  check_epilogue(k, op->epilogue, op->y.rows, op->y.cols);
  assert(op->epilogue->norm != NORM_BATCH && op->epilogue->z.data == op->y.data && !op->epilogue->scale);
  if (!loss) return;
  assert(loss_fits(k, loss) && loss->logits.data == op->epilogue->y.data && loss->logits.cols == op->y.cols);
  assert(loss->logits.rows == 0 || (loss->grad.data && loss->grad.data != op->y.data));
  assert(loss->logits.rows == 0 || (loss->counted && loss->row_loss));
}

/* Non-zeros that this phase multiplies. */
static double entries_of(const struct spmm *op) {
  const int64_t ahead = op->a->tile_entries + op->a->window_entries;
  return (double)(op->phase == SPMM_AHEAD  ? ahead
                  : op->phase == SPMM_REST ? op->a->csr->nnz - ahead
                                           : op->a->csr->nnz);
}

/* A gathered row passes for each non-zero. */
static double spmm_bytes(const struct spmm *op) {
  const struct csr *a = op->a->csr;
  double columns = (double)op->y.cols, index = a->weight ? 8 : 4, rows = (double)a->rows;
  const struct tensor result = op->epilogue && op->epilogue->loss ? op->epilogue->loss->grad : op->y;
  double row = columns *
               (double)(dtype_bytes(result.dtype) + (op->accumulate ? dtype_bytes(op->y.dtype) : 0));
  double self = (op->self_scale ? bytes_of(op->self) : 0) + bytes_of(op->added);
  if (op->below) self += bytes_kept(op->below);
  const double arcs = entries_of(op) * (index + columns * (double)dtype_bytes(op->x.dtype));
  return op->phase == SPMM_AHEAD ? arcs : arcs + rows * (8 + row) + self;
}

int op_spmm_takes_epilogue(const struct epilogue_backward *below) {
  const struct epilogue *forward = below->forward;
  return forward->norm == NORM_NONE && forward->activation == ACTIVATION_RELU && !forward->residual.data &&
         forward->y.data == forward->z.data && below->dz.data == below->dy.data && !below->scale &&
         !below->bias_grad && !below->shift_grad && !below->residual_grad.data && !below->chained_wgrad;
}

static void check_columns(const struct kernels *k, const struct spmm *op) {
  const struct csr *a = op->a->csr;
  const int64_t near = a->near > 0 ? a->near : a->cols;
  assert(is_matrix(k, op->x, near, op->y.cols));
  assert(a->near > 0 || (!op->far.data && op->phase == SPMM_WHOLE));
  if (a->near == 0) return;
  assert(!op->a->plain && op->a->windows == 0 && !op->col_scale && has_whole_rows(op->x));
  assert(op->phase == SPMM_AHEAD ||
         (is_matrix(k, op->far, a->cols - near, op->y.cols) && has_whole_rows(op->far)));
}

int op_spmm(struct kernels *k, const struct spmm *op) {
  const struct csr *a = op->a->csr;
  check_columns(k, op);
  assert(is_either_matrix(k, op->y, op->y.rows, op->y.cols));
  assert(op->y.dtype == k->real
             ? !op->sums.data
             : is_real(k, op->sums, op->y.rows, op->y.cols) || (!op->has_halo && !op->accumulate));
  assert(a->rows <= op->y.rows);
  assert(!op->self_scale || is_matrix(k, op->self, op->y.rows, op->y.cols));
  assert(!op->added.data ||
         (is_matrix(k, op->added, op->y.rows, op->y.cols) && op->added.data != op->y.data));
  if (op->epilogue) check_spmm_epilogue(k, op);
  assert(!op->below ||
         (!op->epilogue && op_spmm_takes_epilogue(op->below) && op->below->dy.data == op->y.data));
  double flops = 2 * entries_of(op) * (double)op->y.cols;
  return RUN_OP(k, "spmm", spmm_bytes(op), flops, k->ops->sparse->spmm(k, op));
}

int op_sparse_dropout(struct kernels *k, const struct sparse_dropout *op) {
  assert(op->x->csr == op->y->csr && op->x != op->y && !op->x->csr->row);
  const double value = (double)dtype_bytes(k->real);
  return RUN_OP(k, "sparse_dropout", (double)op->x->csr->nnz * (4 + 2 * value), 0,
                k->ops->sparse->sparse_dropout(k, op));
}
