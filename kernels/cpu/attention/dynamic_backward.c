/* Gradients of attention with dynamic scores, over the arcs into a row or out of it; see struct
 * dynamic_backward. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/exponential.h"
#include "kernels/cpu/common/segment.h"
#include "runtime/base/base.h"

/* Where a row's gradients are added up, [width] each. */
struct gradients {
  real *grad, *products;
};

/* An arc (v <- u): x of u and the message of v; and of both ends which is the row's own. */
struct arc {
  const real *x, *message, *own;
  int64_t v_id, u_id;
};

static void clear(int64_t width, struct gradients to) {
  memset(to.grad, 0, (size_t)width * sizeof(real));
  memset(to.products, 0, (size_t)width * sizeof(real));
}

/* grad += score s, products += own s, with s = de LeakyReLU'(x + right). */
static void add_slopes(real de, int64_t n, const real *x, const real *right, const real *score,
                       const real *own, real *grad, real *products) {
#pragma omp simd
  for (int64_t j = 0; j < n; j++) {
    real s = x[j] + right[j] > 0 ? de : SCORE_SLOPE * de;
    grad[j] += score[j] * s;
    products[j] += own[j] * s;
  }
}

static void take_arc(const struct dynamic_backward *op, uint32_t epoch, const struct arc *arc,
                     struct gradients to) {
  real keep[ATTENTION_HEADS];
  const struct dropout *dropout = &op->dropout;
  int64_t heads = op->heads, width = op->x.cols / heads;
  int averaged = op->out != op->x.cols;
  const real *right = arc->message + message_piece(REAL_DTYPE, op->out);
  const real *log_sum = right + message_piece(REAL_DTYPE, op->x.cols), *delta = log_sum + heads;
  if (dropout->threshold > 0) keep_heads(dropout, epoch, arc->v_id, arc->u_id, heads, keep);
  for (int64_t h = 0; h < heads; h++) {
    int64_t at = h * width;
    const real *dy = averaged ? arc->message : arc->message + at, *score = row_of(op->score, h);
    real a = exponential(dynamic_score(arc->x + at, right + at, score, width) - log_sum[h]);
    real kept = (averaged ? 1 / (real)heads : (real)1) * (dropout->threshold > 0 ? keep[h] : (real)1);
    real de = a * (kept * dot(dy, arc->x + at, width) - delta[h]);
    if (op->way == DYNAMIC_OUT) add_times(a * kept, dy, width, to.grad + at);
    add_slopes(de, width, arc->x + at, right + at, score, arc->own + at, to.grad + at, to.products + at);
  }
}

/* Between the row and a column; both ids are 0 without dropout. */
static struct arc arc_of(const struct dynamic_backward *op, int64_t row, int64_t col, int64_t row_id,
                         int64_t col_id) {
  if (op->way == DYNAMIC_OUT)
    return (struct arc){row_of(op->x, row), row_of(op->message, col), row_of(op->x, row), col_id, row_id};
  const real *message = row_of(op->message, row);
  return (struct arc){row_of(op->x, col), message, message + message_piece(REAL_DTYPE, op->out), row_id,
                      col_id};
}

static void take_arcs(const struct dynamic_backward *op, uint32_t epoch, int64_t row, int64_t first,
                      int64_t end, struct gradients to) {
  int drops = op->dropout.threshold > 0;
  for (int64_t e = first; e < end; e++) {
    int64_t col = op->a->csr->col[e];
    struct arc arc = arc_of(op, row, col, drops ? op->dropout.id[row] : 0, drops ? op->col_id[col] : 0);
    take_arc(op, epoch, &arc, to);
  }
}

/* Segments are added up as grad | products. */
static void take_segments(const struct dynamic_backward *op, uint32_t epoch, int64_t row, int64_t first,
                          int64_t end, struct gradients to, struct segment_place place) {
  const int64_t each = segment_of(end - first), width = op->x.cols;
  if (end - first <= SEGMENT) {
    take_arcs(op, epoch, row, first, end, to);
    return;
  }
  struct gradients part = {place.at, place.at + width};
  for (; first < end; first += each) {
    clear(width, part);
    take_segments(op, epoch, row, first, end - first < each ? end : first + each, part,
                  segment_within(place));
    add_times(1, part.grad, width, to.grad);
    add_times(1, part.products, width, to.products);
  }
}

static void compute_row(const struct dynamic_backward *op, uint32_t epoch, int64_t i,
                        struct segment_place place) {
  const struct csr *m = op->a->csr;
  const size_t bytes = (size_t)op->x.cols * sizeof(real);
  int64_t row = m->row ? m->row[i] : i;
  struct gradients to = {row_of(op->grad, row), row_of(op->products, row)};
  if (!op->accumulate) memset(to.grad, 0, bytes);
  if (!op->accumulate && op->way == DYNAMIC_IN) memset(to.products, 0, bytes);
  if (row < op->selves) {
    const int64_t id = op->dropout.threshold > 0 ? op->dropout.id[row] : 0;
    struct arc arc = arc_of(op, row, row, id, id);
    take_arc(op, epoch, &arc, to);
  }
  take_segments(op, epoch, row, m->start[i], m->start[i + 1], to, place);
}

int REAL(cpu_dynamic_backward)(struct kernels *k, const struct dynamic_backward *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  uint32_t epoch = k->scalars->epoch;
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->x.cols);
  struct segment_place place;
  TRY(segment_places(k, a, threads, 2 * op->x.cols, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, epoch, i, mine);
  }
  return OK;
}
