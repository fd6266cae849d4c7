/* Gradients of x and term, gathered over the transposed pattern; see struct attention_backward. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/exponential.h"
#include "kernels/cpu/common/segment.h"
#include "runtime/base/base.h"

/* Where a row's gradients are added up. */
struct gradients {
  real *dx, *term; /* [width], [heads] */
};

static void clear(const struct attention_backward *op, struct gradients grad) {
  memset(grad.dx, 0, (size_t)op->x.cols * sizeof(real));
  memset(grad.term, 0, (size_t)op->heads * sizeof(real));
}

/* The arc (v <- u), from the message of v: dz | row_term, log_sum, delta. */
static void take_arc(const struct attention_backward *op, uint32_t epoch, int64_t u, const real *message,
                     int64_t v_id, struct gradients grad) {
  real keep[ATTENTION_HEADS];
  const struct dropout *dropout = &op->dropout;
  int64_t heads = op->heads, width = op->x.cols / heads;
  int averaged = op->out != op->x.cols;
  const real *term = row_of(op->term, u), *row_term = message + message_piece(REAL_DTYPE, op->out);
  const real *log_sum = row_term + heads, *delta = log_sum + heads;
  if (dropout->threshold > 0) keep_heads(dropout, epoch, v_id, dropout->id[u], heads, keep);
  for (int64_t h = 0; h < heads; h++) {
    int64_t at = h * width;
    const real *dy = averaged ? message : message + at;
    real sum = term[h] + row_term[h], a = exponential(leaky(sum) - log_sum[h]);
    real kept = (averaged ? 1 / (real)heads : (real)1) * (dropout->threshold > 0 ? keep[h] : (real)1);
    real slope = sum > 0 ? (real)1 : SCORE_SLOPE;
    add_times(a * kept, dy, width, grad.dx + at);
    grad.term[h] += slope * a * (kept * dot(dy, row_of(op->x, u) + at, width) - delta[h]);
  }
}

static void take_arcs(const struct attention_backward *op, uint32_t epoch, int64_t u, int64_t first,
                      int64_t end, struct gradients grad) {
  int drops = op->dropout.threshold > 0;
  for (int64_t e = first; e < end; e++) {
    int64_t v = op->a->csr->col[e];
    take_arc(op, epoch, u, row_of_two(op->message, op->far, op->a->csr->near, v), drops ? op->col_id[v] : 0,
             grad);
  }
}

/* Segments are added up as dx | term. */
static void take_segments(const struct attention_backward *op, uint32_t epoch, int64_t u, int64_t first,
                          int64_t end, struct gradients grad, struct segment_place place) {
  const int64_t each = segment_of(end - first);
  if (end - first <= SEGMENT) {
    take_arcs(op, epoch, u, first, end, grad);
    return;
  }
  struct gradients part = {place.at, place.at + op->x.cols};
  for (; first < end; first += each) {
    clear(op, part);
    take_segments(op, epoch, u, first, end - first < each ? end : first + each, part, segment_within(place));
    add_times(1, part.dx, op->x.cols, grad.dx);
    add_times(1, part.term, op->heads, grad.term);
  }
}

/* dx += term_grad l + row_term_grad r, head by head. */
static void add_terms(const struct attention_backward *op, int64_t u) {
  int64_t width = op->x.cols / op->heads;
  for (int64_t h = 0; h < op->heads; h++) {
    real *dx = row_of(op->dx, u) + h * width;
    add_times(row_of(op->term_grad, u)[h], row_of(op->l, h), width, dx);
    add_times(row_of(op->row_term_grad, u)[h], row_of(op->r, h), width, dx);
  }
}

static void compute_row(const struct attention_backward *op, uint32_t epoch, int64_t i,
                        struct segment_place place) {
  const struct csr *m = op->a->csr;
  int64_t u = m->row ? m->row[i] : i, first = m->start[i], end = m->start[i + 1];
  int drops = op->dropout.threshold > 0;
  struct gradients grad = {row_of(op->dx, u), row_of(op->term_grad, u)};
  if (!op->accumulate) clear(op, grad);
  if (op->self.data && u < op->self.rows)
    take_arc(op, epoch, u, row_of(op->self, u), drops ? op->dropout.id[u] : 0, grad);
  take_segments(op, epoch, u, first, end, grad, place);
  if (op->l.data && !(op->has_halo && op->has_halo[u])) add_terms(op, u);
}

int REAL(cpu_attention_backward)(struct kernels *k, const struct attention_backward *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  uint32_t epoch = k->scalars->epoch;
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->x.cols);
  struct segment_place place;
  TRY(segment_places(k, a, threads, op->x.cols + op->heads, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, epoch, i, mine);
  }
  return OK;
}
