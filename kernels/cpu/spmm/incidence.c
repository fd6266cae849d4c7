/* Y = diag(r) (B diag(t) B^T + diag(s)) diag(c) X in two sparse products or by blocks of vertices; see struct
 * incidence_sum. */
#include "kernels/ops/incidence.h"

#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/spmm/incidence_split.h"
#include "kernels/cpu/spmm/sparse_ops.h"
#include "runtime/base/error.h"

static int64_t cpu_incidence_workspace(const struct kernels *k, const struct incidence_sum *op) {
  (void)k;
  if (REAL(cpu_is_split)(op)) return REAL(cpu_split_workspace)(k, op);
  if (op->kept.data) return 0;
  return tensor_bytes(tensor_padded(NULL, REAL_DTYPE, op->a->edges->csr->rows, op->y.cols));
}

static int cpu_incidence_sum(struct kernels *k, const struct incidence_sum *op) {
  struct tensor sums = op->kept;
  if (REAL(cpu_is_split)(op)) return REAL(cpu_split_sum)(k, op);
  if (!sums.data) {
    sums = tensor_padded(NULL, REAL_DTYPE, op->a->edges->csr->rows, op->y.cols);
    TRY(kernels_workspace(k, tensor_bytes(sums), &sums.data));
  }
  struct spmm gather = {.a = op->a->edges, .x = op->x, .col_scale = op->col_scale, .y = sums};
  struct spmm scatter = {.a = op->a->vertices,
                         .x = sums,
                         .col_scale = op->edge_scale,
                         .self_scale = op->self_scale,
                         .self = tensor_rows(op->x, 0, op->y.rows),
                         .self_col_scale = op->col_scale,
                         .row_scale = op->row_scale,
                         .has_halo = op->has_halo,
                         .epilogue = op->epilogue,
                         .sums = op->sums,
                         .y = op->y};
  TRY(REAL(cpu_spmm)(k, &gather));
  return REAL(cpu_spmm)(k, &scatter);
}

static int cpu_incidence_weights(struct kernels *k, const struct incidence_weights *op) {
  const real *weight = op->weight, *scale = op->scale;
  real *out = op->out;
#pragma omp parallel for num_threads(threads_for(k, op->count)) schedule(static)
  for (int64_t e = 0; e < op->count; e++) out[e] = scale[e] * weight[op->id[e]];
  return OK;
}

/* Each hyperedge has one owner, so no two write one gradient. */
static int cpu_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op) {
  const real *scale = op->scale;
  real *grad = op->grad;
#pragma omp parallel for num_threads(threads_for(k, op->hyperedges)) schedule(static)
  for (int64_t e = 0; e < op->hyperedges; e++) grad[e] = 0;
#pragma omp parallel for num_threads(threads_for(k, op->count * op->a.cols)) schedule(static)
  for (int64_t e = 0; e < op->count; e++) {
    const real *a = row_of(op->a, e), *b = row_of(op->b, e);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < op->a.cols; j++) sum += (double)a[j] * (double)b[j];
    grad[op->id[e]] = (real)((double)scale[e] * sum);
  }
  return OK;
}

const struct incidence_ops REAL(cpu_incidence_ops) = {
    .splits = 1,
    .incidence_workspace = cpu_incidence_workspace,
    .incidence_sum = cpu_incidence_sum,
    .incidence_weights = cpu_incidence_weights,
    .incidence_weights_backward = cpu_incidence_weights_backward,
};
