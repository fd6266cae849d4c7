/* y_v = sum_u softmax_u(LeakyReLU(term_u + row_term_v)) k_vu x_u in one pass over the arcs of a row, with a
 * running maximum; see struct attention. */
#include <string.h>

#include "kernels/cpu/attention_arc.h"
#include "kernels/cpu/exponential.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/update_row.h"
#include "runtime/error.h"

/* One row on its way: sums are relative to exp(max), a head each. */
struct row {
  int64_t v, width; /* of a head */
  const real *term;
  real *y, *positive; /* positive NULL: not wanted */
  real max[ATTENTION_HEADS], total[ATTENTION_HEADS], share[ATTENTION_HEADS];
};

/* Without accumulate nothing is there; with it one arc that stands for all before. */
static void begin_row(const struct attention *op, struct row *row) {
  const real *log_sum = row_of(op->log_sum, row->v);
  for (int64_t h = 0; h < op->heads; h++) {
    row->max[h] = op->accumulate ? log_sum[h] : (real)-INFINITY;
    row->total[h] = op->accumulate ? (real)1 : (real)0;
    row->share[h] = op->accumulate && row->positive ? row_of(op->share, row->v)[h] : (real)0;
  }
  if (op->accumulate) return;
  memset(row->y, 0, (size_t)op->y.cols * sizeof(real));
  if (row->positive) memset(row->positive, 0, (size_t)op->y.cols * sizeof(real));
}

static void raise_max(struct row *row, int64_t h, real max) {
  real factor = exponential(row->max[h] - max);
  row->max[h] = max;
  row->total[h] *= factor;
  row->share[h] *= factor;
  multiply_by(factor, row->width, row->y + h * row->width);
  if (row->positive) multiply_by(factor, row->width, row->positive + h * row->width);
}

static void take_arc(const struct attention *op, uint32_t epoch, struct row *row, const real *x,
                     const real *term, int64_t col_id) {
  real keep[ATTENTION_HEADS];
  const struct dropout *dropout = &op->dropout;
  if (dropout->threshold > 0) keep_heads(dropout, epoch, dropout->id[row->v], col_id, op->heads, keep);
  for (int64_t h = 0; h < op->heads; h++) {
    real sum = term[h] + row->term[h], score = leaky(sum);
    if (score > row->max[h]) raise_max(row, h, score);
    real weight = exponential(score - row->max[h]), kept = dropout->threshold > 0 ? weight * keep[h] : weight;
    int64_t at = h * row->width;
    row->total[h] += weight;
    add_times(kept, x + at, row->width, row->y + at);
    if (!row->positive || !(sum > 0)) continue;
    row->share[h] += weight;
    add_times(kept, x + at, row->width, row->positive + at);
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

static void compute_row(const struct attention *op, uint32_t epoch, int64_t i) {
  const struct csr *m = op->a->csr;
  int64_t v = m->row ? m->row[i] : i;
  struct row row = {.v = v,
                    .width = op->y.cols / op->heads,
                    .term = row_of(op->row_term, v),
                    .y = row_of(op->y, v),
                    .positive = op->positive.data ? row_of(op->positive, v) : NULL};
  int drops = op->dropout.threshold > 0;
  begin_row(op, &row);
  if (op->self.data)
    take_arc(op, epoch, &row, row_of(op->self, v), row_of(op->self_term, v), drops ? op->dropout.id[v] : 0);
  for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
    int64_t u = m->col[e];
    take_arc(op, epoch, &row, row_of(op->x, u), row_of(op->term, u), drops ? op->col_id[u] : 0);
  }
  end_row(op, &row);
  if (op->unfinished && op->unfinished[v]) return;
  if (op->mean.data) average_heads(op, &row);
  if (op->update) update_row(op->update, epoch, v);
}

int REAL(cpu_attention)(struct kernels *k, const struct attention *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  uint32_t epoch = k->scalars->epoch;
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->y.cols);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, epoch, i);
  }
  return OK;
}
