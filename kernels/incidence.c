#include "kernels/incidence.h"

#include <assert.h>
#include <stdlib.h>

#include "kernels/layout.h"
#include "runtime/error.h"
#include "runtime/profile.h"

/* The fused form reads two numbers beside each row, the steps one; what the second step costs whatever it
 * reads is as if BYTES more were read. */
int incidence_fusing_pays(const struct csr *edges, int64_t pairs, int64_t row) {
  enum { BYTES = 16 << 20 };
  return pairs * (row + 12) < 2 * edges->nnz * (row + 4) + BYTES;
}

static int init_pairs(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                      struct incidence *incidence) {
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER};
  TRY(pairs_init(edges, vertices, &incidence->pairs));
  int64_t bytes = incidence->pairs.csr.nnz * (int64_t)sizeof *incidence->pair_edge;
  TRY(device_alloc(k->device, bytes, (void **)&incidence->pair_edge, "hyperedges of pairs"));
  TRY(device_upload(k->device, STREAM_COMPUTE, incidence->pair_edge, incidence->pairs.edge, bytes));
  TRY(device_synchronize(k->device, STREAM_COMPUTE));
  free(incidence->pairs.edge);
  incidence->pairs.edge = NULL;
  return layout_init(k, &incidence->pairs.csr, &plan, &incidence->pair);
}

/* Whether rows of some width may be summed over pairs. */
static int may_fuse(const struct kernels *k, const struct csr *edges, enum incidence_form form) {
  if (!k->ops->incidence_fuses || form == INCIDENCE_STEPS) return 0;
  return form == INCIDENCE_FUSED || incidence_fusing_pays(edges, pairs_count(edges), ROW_BYTES);
}

int incidence_init(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                   const struct layout_plan *plan, enum incidence_form form, struct incidence *incidence) {
  assert(edges->rows == vertices->cols && edges->cols == vertices->rows && edges->nnz == vertices->nnz);
  *incidence = (struct incidence){.form = form};
  TRY(layout_init(k, edges, plan, &incidence->edges));
  TRY(layout_init(k, vertices, plan, &incidence->vertices));
  return may_fuse(k, edges, form) ? init_pairs(k, edges, vertices, incidence) : OK;
}

void incidence_free(struct kernels *k, struct incidence *incidence) {
  layout_free(k, incidence->edges);
  layout_free(k, incidence->vertices);
  layout_free(k, incidence->pair);
  device_release(k->device, incidence->pair_edge);
  pairs_free(&incidence->pairs);
  *incidence = (struct incidence){0};
}

int64_t incidence_bytes(const struct incidence *incidence) {
  int64_t bytes = incidence->edges->bytes + incidence->vertices->bytes;
  if (!incidence->pair) return bytes;
  return bytes + incidence->pair->bytes + incidence->pairs.csr.nnz * (int64_t)sizeof *incidence->pair_edge;
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
  assert(!op->sums.data || has_shape(op->sums, k->real, a->cols, op->y.cols));
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
