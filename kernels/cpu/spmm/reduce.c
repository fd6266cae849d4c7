/* y_v = reduction of x_u over the entries of row v, and the gradient of those that choose; see
 * kernels/ops/reduce.h. What a row has so far lies in y and in its winners. */
#include "kernels/ops/reduce.h"

#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/common/segment.h"
#include "runtime/base/base.h"

/* Takes one entry, x of node id, into a row; ends a row of n entries. */
typedef void step(real *restrict sum, int32_t *restrict winner, const real *restrict entry, int32_t id,
                  int64_t cols);
typedef void ending(real *sum, const int32_t *winner, real n, int64_t cols);

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
  ending *end;
} reducers[] = {REDUCERS(REDUCER)};
#undef REDUCER

static void take_entries(const struct reduce *op, const struct reduction *reducer, int64_t first, int64_t end,
                         real *y, int32_t *winner) {
  const int32_t *col = op->a->csr->col;
  for (int64_t e = first; e < end; e++)
    reducer->step(y, winner, row_of(op->x, col[e]), winner ? (int32_t)op->col_id[col[e]] : 0, op->y.cols);
}

/* A segment of what is added up is then taken as an entry. */
static void take_segments(const struct reduce *op, const struct reduction *reducer, int64_t first,
                          int64_t end, real *y, int32_t *winner, struct segment_place place) {
  const int64_t each = segment_of(end - first);
  if (winner || end - first <= SEGMENT) {
    take_entries(op, reducer, first, end, y, winner);
    return;
  }
  for (; first < end; first += each) {
    for (int64_t j = 0; j < op->y.cols; j++) place.at[j] = reducer->start;
    take_segments(op, reducer, first, end - first < each ? end : first + each, place.at, NULL,
                  segment_within(place));
    reducer->step(y, NULL, place.at, 0, op->y.cols);
  }
}

static void reduce_row(const struct reduce *op, const struct reduction *reducer, int64_t i,
                       struct segment_place place) {
  const struct csr *m = op->a->csr;
  const real *self = op->self_scale, *entries = op->entries;
  int64_t v = m->row ? m->row[i] : i, cols = op->y.cols, first = m->start[i], end = m->start[i + 1];
  real *y = row_of(op->y, v);
  int32_t *winner = reducer->chooses ? op->winner.id + v * op->winner.stride : NULL;
  for (int64_t j = 0; j < cols && !op->accumulate; j++) {
    y[j] = reducer->start;
    if (winner) winner[j] = NO_WINNER;
  }
  take_segments(op, reducer, first, end, y, winner, place);
  if (self && self[v] != 0)
    reducer->step(y, winner, row_of(op->self, v), winner ? (int32_t)op->id[v] : 0, cols);
  if (!op->has_halo || !op->has_halo[v]) reducer->end(y, winner, entries ? entries[v] : 0, cols);
}

static int cpu_reduce(struct kernels *k, const struct reduce *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  const struct reduction *reducer = &reducers[op->reducer];
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->y.cols);
  struct segment_place place = {0};
  if (!reducer->chooses) TRY(segment_places(k, a, threads, op->y.cols, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) reduce_row(op, reducer, i, mine);
  }
  return OK;
}

static void add_won(real *restrict dx, const real *restrict dy, const int32_t *restrict winner, int32_t id,
                    int64_t cols) {
  for (int64_t j = 0; j < cols; j++) dx[j] += winner[j] == id ? dy[j] : 0;
}

static void gather_won(const struct reduce_backward *op, int64_t first, int64_t end, int32_t id, real *dx) {
  for (int64_t e = first; e < end; e++) {
    int64_t v = op->a->csr->col[e];
    add_won(dx, row_of(op->dy, v), op->winner.id + v * op->winner.stride, id, op->dx.cols);
  }
}

static void gather_segments(const struct reduce_backward *op, int64_t first, int64_t end, int32_t id,
                            real *dx, struct segment_place place) {
  const int64_t each = segment_of(end - first), cols = op->dx.cols;
  if (end - first <= SEGMENT) {
    gather_won(op, first, end, id, dx);
    return;
  }
  for (; first < end; first += each) {
    memset(place.at, 0, (size_t)cols * sizeof(real));
    gather_segments(op, first, end - first < each ? end : first + each, id, place.at, segment_within(place));
    for (int64_t j = 0; j < cols; j++) dx[j] += place.at[j];
  }
}

static void gather_row(const struct reduce_backward *op, int64_t i, struct segment_place place) {
  const struct csr *m = op->a->csr;
  int64_t u = m->row ? m->row[i] : i, cols = op->dx.cols, first = m->start[i], end = m->start[i + 1];
  int32_t id = (int32_t)op->id[u];
  real *dx = row_of(op->dx, u);
  for (int64_t j = 0; j < cols && !op->accumulate; j++) dx[j] = 0;
  gather_segments(op, first, end, id, dx, place);
  if (op->self.data)
    add_won(dx, row_of(op->self, u), op->self_winner.id + u * op->self_winner.stride, id, cols);
}

static int cpu_reduce_backward(struct kernels *k, const struct reduce_backward *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->dx.cols);
  struct segment_place place;
  TRY(segment_places(k, a, threads, op->dx.cols, &place));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    struct segment_place mine = segment_mine(place);
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) gather_row(op, i, mine);
  }
  return OK;
}

const struct reduce_ops REAL(cpu_reduce_ops) = {
    .reduce = cpu_reduce,
    .reduce_backward = cpu_reduce_backward,
};
