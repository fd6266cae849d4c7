/* Gradients of x, x / |x| and beta over the arcs into a row and out of it; see struct cosine_backward. */
#include <string.h>

#include "kernels/cpu/attention_arc.h"
#include "kernels/cpu/exponential.h"
#include "kernels/cpu/layout.h"
#include "runtime/error.h"

/* de of the arc (v <- u) with cosine c, its coefficient in *a. */
static real score_gradient(real beta, real c, const real *v, const real *u, int64_t width, real *a) {
  const real *dz = v + width + 1;
  real log_sum = dz[width], delta = dz[width + 1];
  *a = exponential(beta * c - log_sum);
  return *a * (dot(dz, u, width) - delta);
}

/* Row i and column j by their messages: x | 1 / |x| | dz | log_sum | delta. */
static void take_entry(const struct cosine_backward *op, int64_t row, const real *i, const real *j) {
  int64_t width = op->dx.cols;
  real beta = *(const real *)op->beta, a, c = dot(i, j, width) * i[width] * j[width], de = 0;
  if (op->arcs & COSINE_IN) {
    de = score_gradient(beta, c, i, j, width, &a);
    row_of(op->beta_grad, row)[0] += de * c;
  }
  if (op->arcs & COSINE_OUT) {
    de += score_gradient(beta, c, j, i, width, &a);
    add_times(a, j + width + 1, width, row_of(op->dx, row));
  }
  add_times(beta * de * j[width], j, width, row_of(op->dn, row));
}

static void compute_row(const struct cosine_backward *op, int64_t at) {
  const struct csr *m = op->a->csr;
  int64_t v = m->row ? m->row[at] : at;
  const real *message = row_of(op->rows, v);
  if (!op->accumulate) {
    memset(row_of(op->dx, v), 0, (size_t)op->dx.cols * sizeof(real));
    memset(row_of(op->dn, v), 0, (size_t)op->dn.cols * sizeof(real));
    row_of(op->beta_grad, v)[0] = 0;
  }
  if (op->self) take_entry(op, v, message, message);
  for (int64_t e = m->start[at]; e < m->start[at + 1]; e++)
    take_entry(op, v, message, row_of(op->message, m->col[e]));
}

int REAL(cpu_cosine_backward)(struct kernels *k, const struct cosine_backward *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->dx.cols);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, i);
  }
  return OK;
}
