/* Gradients of x, x / |x| and beta over the arcs into a row and out of it; see struct cosine_backward. */
#include <string.h>

#include "kernels/cpu/attention_arc.h"
#include "kernels/cpu/exponential.h"
#include "kernels/cpu/layout.h"
#include "runtime/error.h"

/* de of the arc (v <- u) with cosine c, its coefficient in *a. */
static real score_gradient(real beta, real c, const struct cosine_row *v, const struct cosine_row *u,
                           int64_t width, real *a) {
  *a = exponential(beta * c - v->log_sum);
  return *a * (dot(v->dz, u->x, width) - v->delta);
}

/* Row i and column j. */
static void take_entry(const struct cosine_backward *op, int64_t row, const struct cosine_row *i,
                       const struct cosine_row *j) {
  int64_t width = op->dx.cols;
  real beta = *(const real *)op->beta, a, c = dot(i->x, j->x, width) * i->inverse * j->inverse, de = 0;
  if (op->arcs & COSINE_IN) {
    de = score_gradient(beta, c, i, j, width, &a);
    row_of(op->beta_grad, row)[0] += de * c;
  }
  if (op->arcs & COSINE_OUT) {
    de += score_gradient(beta, c, j, i, width, &a);
    add_times(a, j->dz, width, row_of(op->dx, row));
  }
  add_times(beta * de * j->inverse, j->x, width, row_of(op->dn, row));
}

static void compute_row(const struct cosine_backward *op, int64_t at) {
  const struct csr *m = op->a->csr;
  int64_t v = m->row ? m->row[at] : at, width = op->dx.cols;
  struct cosine_row node = cosine_row(op->rows, v, width, 1);
  if (!op->accumulate) {
    memset(row_of(op->dx, v), 0, (size_t)width * sizeof(real));
    memset(row_of(op->dn, v), 0, (size_t)width * sizeof(real));
    row_of(op->beta_grad, v)[0] = 0;
  }
  if (op->self) take_entry(op, v, &node, &node);
  for (int64_t e = m->start[at]; e < m->start[at + 1]; e++) {
    struct cosine_row other = cosine_row(op->message, m->col[e], width, op->arcs & COSINE_OUT);
    take_entry(op, v, &node, &other);
  }
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
