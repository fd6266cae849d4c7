/* y_v = sum_u softmax_u(beta n_v . n_u) x_u in one pass over the arcs of a row, with a running maximum; see
 * struct cosine_attention. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/exponential.h"
#include "kernels/cpu/common/segment.h"
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "runtime/base/base.h"

/* One row on its way: sums are relative to exp(max). */
struct row {
  int64_t width;
  struct cosine_row node;
  real beta, max, total, *y;
};

static void raise_max(struct row *row, real max) {
  real factor = exponential(row->max - max);
  row->max = max;
  row->total *= factor;
  multiply_by(factor, row->width, row->y);
}

static void take_arc(struct row *row, const struct cosine_row *other) {
  int64_t width = row->width;
  real cosine = dot(row->node.x, other->x, width) * row->node.inverse * other->inverse;
  real score = row->beta * cosine;
  if (score > row->max) raise_max(row, score);
  real weight = exponential(score - row->max);
  row->total += weight;
  add_times(weight, other->x, width, row->y);
}

static void take_arcs(const struct cosine_attention *op, struct row *row, int64_t first, int64_t end) {
  for (int64_t e = first; e < end; e++) {
    struct cosine_row other = cosine_row(op->message, op->a->csr->col[e], row->width, 0);
    take_arc(row, &other);
  }
}

static void take_segments(const struct cosine_attention *op, struct row *row, int64_t first, int64_t end,
                          struct segment_place place) {
  const int64_t each = segment_of(end - first);
  if (end - first <= SEGMENT) {
    take_arcs(op, row, first, end);
    return;
  }
  for (; first < end; first += each) {
    struct row part = *row;
    part.y = place.at;
    part.max = (real)-INFINITY;
    part.total = 0;
    memset(part.y, 0, (size_t)row->width * sizeof(real));
    take_segments(op, &part, first, end - first < each ? end : first + each, segment_within(place));
    if (part.max > row->max) raise_max(row, part.max);
    real factor = exponential(part.max - row->max);
    row->total += factor * part.total;
    add_times(factor, part.y, row->width, row->y);
  }
}

static void compute_row(const struct cosine_attention *op, uint32_t epoch, int64_t i,
                        struct segment_place place) {
  const struct csr *m = op->a->csr;
  int64_t v = m->row ? m->row[i] : i, width = op->y.cols, first = m->start[i], end = m->start[i + 1];
  real *log_sum = row_of(op->log_sum, v);
  struct row row = {.width = width,
                    .node = cosine_row(op->rows, v, width, 0),
                    .beta = *(const real *)op->beta,
                    .max = op->accumulate ? log_sum[0] : (real)-INFINITY,
                    .total = op->accumulate ? (real)1 : (real)0,
                    .y = row_of(op->y, v)};
  if (!op->accumulate) memset(row.y, 0, (size_t)width * sizeof(real));
  if (op->self) take_arc(&row, &row.node);
  take_segments(op, &row, first, end, place);
  log_sum[0] = row.max + real_log(row.total);
  multiply_by(row.total == 0 ? (real)0 : 1 / row.total, width, row.y); /* a row without arcs is 0 */
  if (op->epilogue && !(op->has_halo && op->has_halo[v])) epilogue_row(op->epilogue, epoch, v);
}

int REAL(cpu_cosine_attention)(struct kernels *k, const struct cosine_attention *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  uint32_t epoch = k->scalars->epoch;
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->y.cols);
  struct segment_place place;
  TRY(segment_places(k, a, threads, op->y.cols, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, epoch, i, mine);
  }
  return OK;
}
