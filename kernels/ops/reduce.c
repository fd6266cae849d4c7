#include "kernels/ops/reduce.h"

#include "kernels/format/layout.h"
#include "kernels/ops/ops_check.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

#define REDUCER_NAME(NAME, CHOOSES, START, STEP, END) #NAME,
const char *const reducer_name[REDUCER_COUNT] = {REDUCERS(REDUCER_NAME)};

#define REDUCER_CHOOSES(NAME, CHOOSES, START, STEP, END) CHOOSES,
int reducer_chooses(enum reducer reducer) {
  static const int chooses[REDUCER_COUNT] = {REDUCERS(REDUCER_CHOOSES)};
  return chooses[reducer];
}

static int are_winners(struct winners w, int64_t rows, int64_t cols) {
  return w.stride >= cols && (w.id || rows == 0 || cols == 0);
}

/* y and sums of an op with that many rows listed or not. */
static int are_results(const struct kernels *k, const struct csr *a, struct tensor y, struct tensor sums,
                       int in_parts) {
  if (!(a->row ? a->rows <= y.rows : a->rows == y.rows)) return 0;
  if (is_real(k, y, y.rows, y.cols)) return !sums.data;
  return is_matrix(k, y, y.rows, y.cols) && (!in_parts || is_real(k, sums, y.rows, y.cols));
}

int op_reduce(struct kernels *k, const struct reduce *op) {
  const struct csr *a = op->a->csr;
  int64_t rows = op->y.rows, width = op->y.cols;
  assert(is_matrix(k, op->x, a->cols, width));
  assert(are_results(k, a, op->y, op->sums, op->has_halo || op->accumulate));
  assert(!op->self_scale || is_matrix(k, op->self, rows, width));
  assert(!reducer_chooses(op->reducer) || (are_winners(op->winner, rows, width) && (op->col_id || !a->nnz) &&
                                           (op->id || !op->self_scale || !rows)));
  assert(op->reducer != REDUCER_MEAN || op->entries || rows == 0);
  double columns = (double)width, nnz = (double)a->nnz;
  double bytes = nnz * (4 + columns * (double)dtype_bytes(op->x.dtype));
  bytes += (double)rows * columns * (double)(dtype_bytes(op->y.dtype) + 4 * reducer_chooses(op->reducer));
  return RUN_OP(k, "reduction", bytes, nnz * columns, k->ops->reduce->reduce(k, op));
}

int op_reduce_backward(struct kernels *k, const struct reduce_backward *op) {
  const struct csr *a = op->a->csr;
  int64_t rows = op->dx.rows, width = op->dx.cols;
  assert(is_matrix(k, op->dy, a->cols, width) && are_winners(op->winner, a->cols, width));
  assert(are_results(k, a, op->dx, op->sums, op->has_halo || op->accumulate));
  assert(!op->self.data ||
         (is_matrix(k, op->self, rows, width) && are_winners(op->self_winner, rows, width)));
  assert(op->id || rows == 0);
  double columns = (double)width, nnz = (double)a->nnz;
  double bytes = nnz * (4 + columns * 4) + (double)rows * columns * (double)dtype_bytes(op->dx.dtype);
  return RUN_OP(k, "reduction_backward", bytes, nnz * columns, k->ops->reduce->reduce_backward(k, op));
}
