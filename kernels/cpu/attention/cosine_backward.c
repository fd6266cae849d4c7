/* Gradients of x, x / |x| and beta over the arcs into a row and out of it; see struct cosine_backward. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/exponential.h"
#include "kernels/cpu/common/segment.h"
#include "runtime/base/base.h"

/* de of the arc (v <- u) with cosine c, its coefficient in *a. */
static real score_gradient(real beta, real c, const struct cosine_row *v, const struct cosine_row *u,
                           int64_t width, real *a) {
  *a = exponential(beta * c - v->log_sum);
  return *a * (dot(v->dz, u->x, width) - v->delta);
}

/* Where a row's gradients are added up. */
struct gradients {
  real *dx, *dn, *beta; /* [width], [width], [1] */
};

static void clear(const struct cosine_backward *op, struct gradients grad) {
  memset(grad.dx, 0, (size_t)op->dx.cols * sizeof(real));
  memset(grad.dn, 0, (size_t)op->dx.cols * sizeof(real));
  *grad.beta = 0;
}

/* Row i and column j. */
static void take_entry(const struct cosine_backward *op, const struct cosine_row *i,
                       const struct cosine_row *j, struct gradients grad) {
  int64_t width = op->dx.cols;
  real beta = *(const real *)op->beta, a, c = dot(i->x, j->x, width) * i->inverse * j->inverse, de = 0;
  if (op->arcs & COSINE_IN) {
    de = score_gradient(beta, c, i, j, width, &a);
    *grad.beta += de * c;
  }
  if (op->arcs & COSINE_OUT) {
    de += score_gradient(beta, c, j, i, width, &a);
    add_times(a, j->dz, width, grad.dx);
  }
  add_times(beta * de * j->inverse, j->x, width, grad.dn);
}

static void take_entries(const struct cosine_backward *op, const struct cosine_row *node, int64_t first,
                         int64_t end, struct gradients grad) {
  for (int64_t e = first; e < end; e++) {
    struct cosine_row other = cosine_row(op->message, op->a->csr->col[e], op->dx.cols, op->arcs & COSINE_OUT);
    take_entry(op, node, &other, grad);
  }
}

/* Segments are added up as dx | dn | beta. */
static void take_segments(const struct cosine_backward *op, const struct cosine_row *node, int64_t first,
                          int64_t end, struct gradients grad, struct segment_place place) {
  const int64_t each = segment_of(end - first), width = op->dx.cols;
  if (end - first <= SEGMENT) {
    take_entries(op, node, first, end, grad);
    return;
  }
  struct gradients part = {place.at, place.at + width, place.at + 2 * width};
  for (; first < end; first += each) {
    clear(op, part);
    take_segments(op, node, first, end - first < each ? end : first + each, part, segment_within(place));
    add_times(1, part.dx, width, grad.dx);
    add_times(1, part.dn, width, grad.dn);
    *grad.beta += *part.beta;
  }
}

static void compute_row(const struct cosine_backward *op, int64_t at, struct segment_place place) {
  const struct csr *m = op->a->csr;
  int64_t v = m->row ? m->row[at] : at, first = m->start[at], end = m->start[at + 1];
  struct cosine_row node = cosine_row(op->rows, v, op->dx.cols, 1);
  struct gradients grad = {row_of(op->dx, v), row_of(op->dn, v), row_of(op->beta_grad, v)};
  if (!op->accumulate) clear(op, grad);
  if (v < op->selves) take_entry(op, &node, &node, grad);
  take_segments(op, &node, first, end, grad, place);
}

int REAL(cpu_cosine_backward)(struct kernels *k, const struct cosine_backward *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->dx.cols);
  struct segment_place place;
  TRY(segment_places(k, a, threads, 2 * op->dx.cols + 1, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, i, mine);
  }
  return OK;
}
