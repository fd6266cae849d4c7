/* y_v = reduction of x_u over the entries of row v, and the gradient of those that choose; see
 * kernels/reduce.h. What a row has so far lies in y and in its winners. */
#include "kernels/reduce.h"

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/layout.h"
#include "runtime/error.h"

/* Takes one entry, x of node id, into a row; ends a row of n entries. */
typedef void step(real *restrict sum, int32_t *restrict winner, const real *restrict entry, int32_t id,
                  int64_t cols);
typedef void end(real *sum, const int32_t *winner, real n, int64_t cols);

#define REDUCER(NAME, CHOOSES, START, STEP, END)                                                    \
  static void step_##NAME(real *restrict sum, int32_t *restrict winner, const real *restrict entry, \
                          int32_t id, int64_t cols) {                                               \
    for (int64_t j = 0; j < cols; j++) {                                                            \
      real a = sum[j], x = entry[j];                                                                \
      if (CHOOSES) {                                                                                \
        int takes = (STEP) || (x == a && id < winner[j]);                                           \
        sum[j] = takes ? x : a;                                                                     \
        winner[j] = takes ? id : winner[j];                                                         \
      } else {                                                                                      \
        sum[j] = (real)(STEP);                                                                      \
      }                                                                                             \
    }                                                                                               \
  }                                                                                                 \
  static void end_##NAME(real *sum, const int32_t *winner, real n, int64_t cols) {                  \
    (void)n;                                                                                        \
    for (int64_t j = 0; j < cols; j++) {                                                            \
      real a = sum[j];                                                                              \
      sum[j] = CHOOSES && winner[j] == NO_WINNER ? 0 : (END);                                       \
    }                                                                                               \
  }
REDUCERS(REDUCER)
#undef REDUCER

#define REDUCER(NAME, CHOOSES, START, STEP, END) {CHOOSES, (real)(START), step_##NAME, end_##NAME},
static const struct reduction {
  int chooses;
  real start;
  step *step;
  end *end;
} reducers[] = {REDUCERS(REDUCER)};
#undef REDUCER

static void reduce_row(const struct reduce *op, const struct reduction *reducer, int64_t i) {
  const struct csr *m = op->a->csr;
  const real *self = op->self_scale, *entries = op->entries;
  int64_t v = m->row ? m->row[i] : i, cols = op->y.cols;
  real *y = row_of(op->y, v);
  int32_t *winner = reducer->chooses ? op->winner.id + v * op->winner.stride : NULL;
  for (int64_t j = 0; j < cols && !op->accumulate; j++) {
    y[j] = reducer->start;
    if (winner) winner[j] = NO_WINNER;
  }
  for (int64_t e = m->start[i]; e < m->start[i + 1]; e++)
    reducer->step(y, winner, row_of(op->x, m->col[e]), winner ? (int32_t)op->col_id[m->col[e]] : 0, cols);
  if (self && self[v] != 0)
    reducer->step(y, winner, row_of(op->self, v), winner ? (int32_t)op->id[v] : 0, cols);
  if (!op->unfinished || !op->unfinished[v]) reducer->end(y, winner, entries ? entries[v] : 0, cols);
}

int REAL(cpu_reduce)(struct kernels *k, const struct reduce *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->y.cols);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) reduce_row(op, &reducers[op->reducer], i);
  }
  return OK;
}

static void add_won(real *restrict dx, const real *restrict dy, const int32_t *restrict winner, int32_t id,
                    int64_t cols) {
  for (int64_t j = 0; j < cols; j++) dx[j] += winner[j] == id ? dy[j] : 0;
}

static void gather_row(const struct reduce_backward *op, int64_t i) {
  const struct csr *m = op->a->csr;
  int64_t u = m->row ? m->row[i] : i, cols = op->dx.cols;
  int32_t id = (int32_t)op->id[u];
  real *dx = row_of(op->dx, u);
  for (int64_t j = 0; j < cols && !op->accumulate; j++) dx[j] = 0;
  for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
    int64_t v = m->col[e];
    add_won(dx, row_of(op->dy, v), op->winner.id + v * op->winner.stride, id, cols);
  }
  if (op->self.data)
    add_won(dx, row_of(op->self, u), op->self_winner.id + u * op->self_winner.stride, id, cols);
}

int REAL(cpu_reduce_backward)(struct kernels *k, const struct reduce_backward *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->dx.cols);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) gather_row(op, i);
  }
  return OK;
}
