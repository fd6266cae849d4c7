#include "kernels/incidence.h"

#include <assert.h>

#include "kernels/layout.h"
#include "runtime/error.h"
#include "runtime/profile.h"

int incidence_is_there(const struct kernels *k) {
  return k->ops->incidence_sum != NULL;
}

int incidence_init(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                   const struct layout_plan *plan, struct incidence *incidence) {
  assert(edges->rows == vertices->cols && edges->cols == vertices->rows && edges->nnz == vertices->nnz);
  *incidence = (struct incidence){0};
  TRY(layout_init(k, edges, plan, &incidence->edges));
  return layout_init(k, vertices, plan, &incidence->vertices);
}

void incidence_free(struct kernels *k, struct incidence *incidence) {
  layout_free(k, incidence->edges);
  layout_free(k, incidence->vertices);
  *incidence = (struct incidence){0};
}

static int has_shape(struct tensor t, enum dtype dtype, int64_t rows, int64_t cols) {
  return t.dtype == dtype && t.rows == rows && t.cols == cols && t.stride >= cols &&
         (t.data || rows == 0 || cols == 0);
}

int64_t incidence_workspace(const struct kernels *k, const struct incidence_sum *op) {
  return k->ops->incidence_workspace ? k->ops->incidence_workspace(k, op) : 0;
}

/* A gathered row for each incidence in both steps, the result once. */
static double sum_bytes(const struct incidence_sum *op) {
  const struct csr *a = op->a->edges->csr;
  double row = (double)op->y.cols * (double)dtype_bytes(op->x.dtype);
  return 2 * (double)a->nnz * (4 + row) + (double)op->y.rows * row;
}

int op_incidence_sum(struct kernels *k, const struct incidence_sum *op) {
  const struct csr *a = op->a->edges->csr;
  assert(has_shape(op->x, k->dtype, a->cols, op->y.cols));
  assert(op->y.dtype == k->dtype || op->y.dtype == k->real);
  assert(has_shape(op->y, op->y.dtype, a->cols, op->y.cols) && (op->y.data != op->x.data || a->cols == 0));
  assert(!op->kept.data || has_shape(op->kept, k->dtype, a->rows, op->y.cols));
  assert(!op->update || (op->update->norm != NORM_BATCH && op->update->z.data == op->y.data));
  double flops = 4 * (double)a->nnz * (double)op->y.cols;
  return PROFILE_WORK("incidence_sum", sum_bytes(op), flops, k->ops->incidence_sum(k, op));
}

int op_incidence_weights(struct kernels *k, const struct incidence_weights *op) {
  assert(op->count == 0 || (op->weight && op->id && op->scale && op->out));
  return PROFILE("incidence_weights", k->ops->incidence_weights(k, op));
}

int op_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op) {
  assert(has_shape(op->a, k->dtype, op->count, op->a.cols));
  assert(has_shape(op->b, k->dtype, op->count, op->a.cols) && op->grad);
  return PROFILE("incidence_weights_backward", k->ops->incidence_weights_backward(k, op));
}
