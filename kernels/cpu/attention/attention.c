/* y_v = sum_u softmax_u(e_vu) k_vu x_u in one pass over the arcs of a row, with a running maximum, e_vu of
 * terms or dynamic; see struct attention. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/exponential.h"
#include "kernels/cpu/common/segment.h"
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "runtime/base/base.h"

/* One row on its way: sums are relative to exp(max), a head each. */
struct row {
  int64_t v, width;         /* of a head */
  const real *term, *right; /* one of them is NULL */
  real *y, *positive;       /* positive NULL: not wanted */
  real max[ATTENTION_HEADS], total[ATTENTION_HEADS], share[ATTENTION_HEADS];
};

/* Nothing is there. */
static void empty_row(const struct attention *op, struct row *row) {
  for (int64_t h = 0; h < op->heads; h++) {
    row->max[h] = (real)-INFINITY;
    row->total[h] = row->share[h] = 0;
  }
  memset(row->y, 0, (size_t)op->y.cols * sizeof(real));
  if (row->positive) memset(row->positive, 0, (size_t)op->y.cols * sizeof(real));
}

/* With accumulate there is one arc that stands for all before. */
static void begin_row(const struct attention *op, struct row *row) {
  const real *log_sum = row_of(op->log_sum, row->v);
  if (!op->accumulate) {
    empty_row(op, row);
    return;
  }
  for (int64_t h = 0; h < op->heads; h++) {
    row->max[h] = log_sum[h];
    row->total[h] = 1;
    row->share[h] = row->positive ? row_of(op->share, row->v)[h] : (real)0;
  }
}

static void raise_max(struct row *row, int64_t h, real max) {
  real factor = exponential(row->max[h] - max);
  row->max[h] = max;
  row->total[h] *= factor;
  row->share[h] *= factor;
  multiply_by(factor, row->width, row->y + h * row->width);
  if (row->positive) multiply_by(factor, row->width, row->positive + h * row->width);
}

/* What LeakyReLU gives of a sum of terms, and whether it is positive; or a dynamic score. */
static real score_of(const struct attention *op, const struct row *row, const real *x, const real *term,
                     int64_t h, int *positive) {
  int64_t at = h * row->width;
  if (row->right) return dynamic_score(x + at, row->right + at, row_of(op->score, h), row->width);
  *positive = term[h] + row->term[h] > 0;
  return leaky(term[h] + row->term[h]);
}

/* term: NULL with dynamic scores. */
static void take_arc(const struct attention *op, uint32_t epoch, struct row *row, const real *x,
                     const real *term, int64_t col_id) {
  real keep[ATTENTION_HEADS];
  const struct dropout *dropout = &op->dropout;
  if (dropout->threshold > 0) keep_heads(dropout, epoch, dropout->id[row->v], col_id, op->heads, keep);
  for (int64_t h = 0; h < op->heads; h++) {
    int positive = 0;
    real score = score_of(op, row, x, term, h, &positive);
    if (score > row->max[h]) raise_max(row, h, score);
    real weight = exponential(score - row->max[h]), kept = dropout->threshold > 0 ? weight * keep[h] : weight;
    int64_t at = h * row->width;
    row->total[h] += weight;
    add_times(kept, x + at, row->width, row->y + at);
    if (!row->positive || !positive) continue;
    row->share[h] += weight;
    add_times(kept, x + at, row->width, row->positive + at);
  }
}

static void take_arcs(const struct attention *op, uint32_t epoch, struct row *row, int64_t first,
                      int64_t end) {
  int drops = op->dropout.threshold > 0;
  const int64_t near = op->a->csr->near;
  for (int64_t e = first; e < end; e++) {
    int64_t u = op->a->csr->col[e];
    take_arc(op, epoch, row, row_of_two(op->x, op->far.x, near, u),
             row->term ? row_of_two(op->term, op->far.term, near, u) : NULL, drops ? op->col_id[u] : 0);
  }
}

static void add_part(const struct attention *op, const struct row *part, struct row *row) {
  for (int64_t h = 0; h < op->heads; h++) {
    if (part->max[h] > row->max[h]) raise_max(row, h, part->max[h]);
    real factor = exponential(part->max[h] - row->max[h]);
    int64_t at = h * row->width;
    row->total[h] += factor * part->total[h];
    add_times(factor, part->y + at, row->width, row->y + at);
    if (!row->positive) continue;
    row->share[h] += factor * part->share[h];
    add_times(factor, part->positive + at, row->width, row->positive + at);
  }
}

/* Segments are added up as y | positive. */
static void take_segments(const struct attention *op, uint32_t epoch, struct row *row, int64_t first,
                          int64_t end, struct segment_place place) {
  const int64_t each = segment_of(end - first);
  if (end - first <= SEGMENT) {
    take_arcs(op, epoch, row, first, end);
    return;
  }
  for (; first < end; first += each) {
    struct row part = {
        .v = row->v, .width = row->width, .term = row->term, .right = row->right, .y = place.at};
    if (row->positive) part.positive = place.at + op->y.cols;
    empty_row(op, &part);
    take_segments(op, epoch, &part, first, end - first < each ? end : first + each, segment_within(place));
    add_part(op, &part, row);
  }
}

static void end_row(const struct attention *op, struct row *row) {
  real *log_sum = row_of(op->log_sum, row->v);
  for (int64_t h = 0; h < op->heads; h++) {
    real inverse = row->total[h] == 0 ? (real)0 : 1 / row->total[h]; /* a row without arcs is 0 */
    log_sum[h] = row->max[h] + real_log(row->total[h]);
    multiply_by(inverse, row->width, row->y + h * row->width);
    if (!row->positive) continue;
    row_of(op->share, row->v)[h] = row->share[h] * inverse;
    multiply_by(inverse, row->width, row->positive + h * row->width);
  }
}

static void average_heads(const struct attention *op, const struct row *row) {
  real *mean = row_of(op->mean, row->v);
  memset(mean, 0, (size_t)row->width * sizeof(real));
  for (int64_t h = 0; h < op->heads; h++)
    add_times(1 / (real)op->heads, row->y + h * row->width, row->width, mean);
}

static void compute_row(const struct attention *op, uint32_t epoch, int64_t i, struct segment_place place) {
  const struct csr *m = op->a->csr;
  int64_t v = m->row ? m->row[i] : i, first = m->start[i], end = m->start[i + 1];
  struct row row = {.v = v,
                    .width = op->y.cols / op->heads,
                    .term = op->right.data ? NULL : row_of(op->row_term, v),
                    .right = op->right.data ? row_of(op->right, v) : NULL,
                    .y = row_of(op->y, v),
                    .positive = op->positive.data ? row_of(op->positive, v) : NULL};
  int drops = op->dropout.threshold > 0;
  begin_row(op, &row);
  if (op->self.x.data)
    take_arc(op, epoch, &row, row_of(op->self.x, v), row.term ? row_of(op->self.term, v) : NULL,
             drops ? op->dropout.id[v] : 0);
  take_segments(op, epoch, &row, first, end, place);
  end_row(op, &row);
  if (op->has_halo && op->has_halo[v]) return;
  if (op->mean.data) average_heads(op, &row);
  if (op->epilogue) epilogue_row(op->epilogue, epoch, v);
}

int REAL(cpu_attention)(struct kernels *k, const struct attention *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  uint32_t epoch = k->scalars->epoch;
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->y.cols);
  struct segment_place place;
  TRY(segment_places(k, a, threads, 2 * op->y.cols, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, epoch, i, mine);
  }
  return OK;
}
