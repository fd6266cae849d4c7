/* Reductions of neighbours and the gradient of those that choose, whole and in two parts. Values are small
 * integers: ties abound, and sums are exact. */
#include "kernels/ops/reduce.h"

#include "kernels/ops/sparse.h"
#include "runtime/base/csr.h"
#include "tests/kernels/every_table.h"

/* Nodes of a graph of which the first `own` are rows; columns are all nodes. Row 4 is long, every fifth is
 * empty; some rows have a self loop, apart. */
static const struct graph {
  int64_t own, nodes, degree, longest;
} graphs[] = {{61, 100, 6, 90}, {203, 203, 40, 200}, {150, 1500, 3, 1400}};

static int has_arc(const struct graph *g, int64_t v, int64_t u) {
  if (v == u || v % 5 == 2) return 0;
  int64_t degree = v == 4 ? g->longest : g->degree;
  return (v * 31 + u * 17 + (v * u) % 13) % g->nodes < degree;
}

static int has_loop(int64_t v) {
  return v % 7 == 3 || v == 2;
}

/* Columns [first, end) as a matrix whose columns begin at 0; `listed`: only rows that have some. */
static void cut(struct csr *m, const struct graph *g, int64_t first, int64_t end, int listed) {
  int64_t nnz = 0, rows = 0;
  for (int64_t v = 0; v < g->own; v++) {
    int64_t before = nnz;
    for (int64_t u = first; u < end; u++) nnz += has_arc(g, v, u);
    rows += !listed || nnz > before;
  }
  assert_ok(csr_init(m, rows, end - first, nnz, 0));
  if (listed) m->row = calloc((size_t)rows + 1, sizeof *m->row);
  int64_t at = 0, row = 0;
  for (int64_t v = 0; v < g->own; v++) {
    int64_t before = at;
    for (int64_t u = first; u < end; u++) {
      if (has_arc(g, v, u)) m->col[at++] = (int32_t)(u - first);
    }
    if (listed && at == before) continue;
    if (listed) m->row[row] = (int32_t)v;
    m->start[++row] = at;
  }
}

/* Ids that a graph of 2^31 nodes may have, in no order. */
static int64_t id_of(int64_t node) {
  return global_id(node) - ((int64_t)1 << 33) + 2000000000;
}

static const int64_t *ids_of(struct kernels *k, int64_t first, int64_t count) {
  int64_t *id = host_block(count * 8 + 8);
  for (int64_t i = 0; i < count; i++) id[i] = id_of(first + i);
  return device_block(k, id, count * 8 + 8);
}

/* What the rows become, and which node each number is from (-1: none). */
static void expect(const struct graph *g, enum reducer reducer, int64_t cols, const double *x, double *y,
                   int64_t *winner) {
  for (int64_t i = 0; i < g->own * cols; i++) {
    int64_t v = i / cols, j = i % cols, entries = 0, best = -1;
    double sum = 0;
    for (int64_t u = 0; u < g->nodes; u++) {
      if (!has_arc(g, v, u) && !(u == v && has_loop(v))) continue;
      double value = x[u * cols + j], than = best < 0 ? 0 : x[best * cols + j];
      int beats = best < 0 || (reducer == REDUCER_MAX ? value > than : value < than);
      if (beats || (value == than && id_of(u) < id_of(best))) best = u;
      sum += value;
      entries++;
    }
    double mean = entries > 0 ? sum / (double)entries : 0, chosen = best < 0 ? 0 : x[best * cols + j];
    y[i] = reducer == REDUCER_SUM ? sum : reducer == REDUCER_MEAN ? mean : chosen;
    winner[i] = best;
  }
}

static double *entries_of(const struct graph *g) {
  double *entries = host_block(g->own * 8);
  for (int64_t v = 0; v < g->own; v++) {
    entries[v] = has_loop(v);
    for (int64_t u = 0; u < g->nodes; u++) entries[v] += has_arc(g, v, u);
  }
  return entries;
}

static double *loops_of(const struct graph *g) {
  double *loops = host_block(g->own * 8);
  for (int64_t v = 0; v < g->own; v++) loops[v] = has_loop(v) ? .5 : 0;
  return loops;
}

/* Rows that have columns behind `first`. */
static const uint8_t *has_halo_of(struct kernels *k, const struct graph *g, int64_t first) {
  uint8_t *has_halo = host_block(g->own);
  for (int64_t v = 0; v < g->own; v++) {
    for (int64_t u = first; u < g->nodes; u++) has_halo[v] |= (uint8_t)has_arc(g, v, u);
  }
  return device_block(k, has_halo, g->own);
}

/* Winners with `pad` numbers behind each row, at first 7. */
static struct winners make_winners(struct kernels *k, int64_t rows, int64_t cols, int64_t pad) {
  struct winners w = {.stride = padded_stride(F32, cols, pad)};
  int32_t *seven = host_block(rows * w.stride * 4 + 4);
  for (int64_t i = 0; i < rows * w.stride; i++) seven[i] = 7;
  w.id = device_block(k, seven, rows * w.stride * 4 + 4);
  return w;
}

static void assert_winners(struct kernels *k, struct winners w, const int64_t *expected, int64_t rows,
                           int64_t cols) {
  int32_t *id = host_block(rows * w.stride * 4 + 4);
  assert_ok(device_download(k->device, STREAM_COMPUTE, id, w.id, rows * w.stride * 4));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  for (int64_t i = 0; i < rows * cols; i++) {
    int64_t node = expected[i], actual = id[i / cols * w.stride + i % cols];
    assert_true(actual == (node < 0 ? NO_WINNER : id_of(node)));
  }
}

/* A test case: one graph, width, padding; the columns behind `border` are a second part unless it is nodes.
 */
struct setting {
  const struct graph *graph;
  int64_t cols, pad, border;
  enum dtype result;
};

static void check_reduce(struct kernels *k, const struct setting *s, enum reducer reducer) {
  const struct graph *g = s->graph;
  int64_t cols = s->cols, count = g->own * cols, tail = g->nodes - s->border;
  int narrow = s->result != k->real, in_parts = tail > 0;
  double *x = integer_block(3, g->nodes * cols), *y = host_block(count * 8);
  int64_t *winner = host_block(count * 8);
  struct csr own, rest;
  struct layout *layout[2];
  cut(&own, g, 0, s->border, 0);
  cut(&rest, g, s->border, g->nodes, 1);
  assert_ok(layout_init(k, &own, NULL, &layout[0]));
  assert_ok(layout_init(k, &rest, NULL, &layout[1]));
  struct reduce op = {.a = layout[0],
                      .reducer = reducer,
                      .x = padded_matrix(k, x, s->border, cols, s->pad),
                      .col_id = ids_of(k, 0, s->border),
                      .self_scale = reals(k, loops_of(g), g->own),
                      .self = padded_matrix(k, x, g->own, cols, s->pad),
                      .id = ids_of(k, 0, g->own),
                      .entries = reals(k, entries_of(g), g->own),
                      .has_halo = in_parts ? has_halo_of(k, g, s->border) : NULL,
                      .y = padded_matrix_of(k, s->result, NULL, g->own, cols, s->pad)};
  if (reducer_chooses(reducer)) op.winner = make_winners(k, g->own, cols, s->pad);
  if (narrow && in_parts) op.sums = padded_matrix_of(k, k->real, NULL, g->own, cols, s->pad);
  assert_ok(op_reduce(k, &op));
  if (in_parts) {
    op.a = layout[1];
    op.x = padded_matrix(k, x + s->border * cols, tail, cols, s->pad);
    op.col_id = ids_of(k, s->border, tail);
    op.self_scale = NULL;
    op.has_halo = NULL;
    op.accumulate = 1;
    assert_ok(op_reduce(k, &op));
  }
  expect(g, reducer, cols, x, y, winner);
  double tolerance = reducer == REDUCER_MEAN ? tolerance_in(k, s->result) : narrow ? 1.0 / 256 : 0;
  assert_all_close(values_of(k, op.y), y, count, reducer_chooses(reducer) ? 0 : tolerance);
  if (reducer_chooses(reducer)) assert_winners(k, op.winner, winner, g->own, cols);
  for (int i = 0; i < 2; i++) layout_free(k, layout[i]);
  csr_free(&own);
  csr_free(&rest);
}

/* Every node has a row of winners; u is told apart by its id. Rows are u here: the pattern is read as the
 * transposed one. */
static void check_backward(struct kernels *k, const struct setting *s) {
  const struct graph *g = s->graph;
  int64_t cols = s->cols, count = g->own * cols, tail = g->nodes - s->border;
  int narrow = s->result != k->real, in_parts = tail > 0;
  double *dy = integer_block(5, g->nodes * cols), *dx = host_block(count * 8);
  struct winners all = make_winners(k, g->nodes, cols, s->pad);
  int32_t *winner = host_block(g->nodes * all.stride * 4 + 4);
  for (int64_t i = 0; i < g->nodes * cols; i++) /* some row that this node's arcs may come from, or none */
    winner[i / cols * all.stride + i % cols] = i % 11 == 3 ? NO_WINNER
                                                           : (int32_t)id_of((i * 7 + i / cols) % g->own);
  for (int64_t i = 0; i < count; i++) {
    int64_t u = i / cols, j = i % cols;
    for (int64_t v = 0; v < g->nodes; v++) {
      if ((has_arc(g, u, v) || u == v) && winner[v * all.stride + j] == id_of(u)) dx[i] += dy[v * cols + j];
    }
  }
  assert_ok(device_upload(k->device, STREAM_COMPUTE, all.id, winner, g->nodes * all.stride * 4));
  struct csr own, rest;
  struct layout *layout[2];
  cut(&own, g, 0, s->border, 0);
  cut(&rest, g, s->border, g->nodes, 1);
  assert_ok(layout_init(k, &own, NULL, &layout[0]));
  assert_ok(layout_init(k, &rest, NULL, &layout[1]));
  struct reduce_backward op = {.a = layout[0],
                               .dy = padded_matrix(k, dy, s->border, cols, s->pad),
                               .winner = all,
                               .self = padded_matrix(k, dy, g->own, cols, s->pad),
                               .self_winner = all,
                               .id = ids_of(k, 0, g->own),
                               .has_halo = in_parts ? has_halo_of(k, g, s->border) : NULL,
                               .dx = padded_matrix_of(k, s->result, NULL, g->own, cols, s->pad)};
  if (narrow && in_parts) op.sums = padded_matrix_of(k, k->real, NULL, g->own, cols, s->pad);
  assert_ok(op_reduce_backward(k, &op));
  if (in_parts) {
    op.a = layout[1];
    op.dy = padded_matrix(k, dy + s->border * cols, tail, cols, s->pad);
    op.winner.id += s->border * all.stride;
    op.self.data = NULL;
    op.has_halo = NULL;
    op.accumulate = 1;
    assert_ok(op_reduce_backward(k, &op));
  }
  assert_all_close(values_of(k, op.dx), dx, count, narrow ? 1.0 / 256 : 0);
  for (int i = 0; i < 2; i++) layout_free(k, layout[i]);
  csr_free(&own);
  csr_free(&rest);
}

static void on_settings(struct kernels *k, void (*check)(struct kernels *k, const struct setting *s)) {
  static const int64_t cols[] = {1, 3, 8, 17, 41, 64, 100, 256}, pads[] = {0, OWN_GAPS, WIDE_GAPS, 3};
  const enum dtype types[] = {k->real, k->dtype};
  for (int i = 0; i < (int)(sizeof cols / sizeof cols[0]); i++) {
    for (int t = 0; t < (k->real == k->dtype ? 1 : 2); t++) {
      const struct graph *g = &graphs[i % 3];
      struct setting s = {g, cols[i], pads[i % 4], g->nodes, types[t]};
      check(k, &s);
      s.border = g->own;
      if (g->own < g->nodes) check(k, &s);
      s.graph = &graphs[2];
      s.border = graphs[2].own;
      s.pad = pads[(i + 1) % 4];
      check(k, &s);
    }
    free_blocks(k->device);
  }
}

static void check_all(struct kernels *k, const struct setting *s) {
  for (enum reducer r = 0; r < REDUCER_COUNT; r++) check_reduce(k, s, r);
}

static void reductions(struct kernels *k) {
  on_settings(k, check_all);
}

static void gradients(struct kernels *k) {
  on_settings(k, check_backward);
}

TEST(rows_are_reduced_whole_and_in_parts_and_the_lowest_id_wins_ties) {
  on_every_type(reductions);
}

TEST(gradients_go_to_those_who_won) {
  on_every_type(gradients);
}

/* Among numbers a NaN comes through, wherever it stands. */
static void not_a_number(struct kernels *k) {
  const struct graph *g = &graphs[1];
  struct csr m;
  struct layout *layout;
  cut(&m, g, 0, g->nodes, 0);
  assert_ok(layout_init(k, &m, NULL, &layout));
  double *x = integer_block(3, g->nodes);
  x[17] = NAN;
  for (enum reducer r = 0; r < REDUCER_COUNT; r++) {
    struct reduce op = {.a = layout, .reducer = r, .x = matrix(k, x, g->nodes, 1)};
    op.col_id = op.id = ids_of(k, 0, g->own);
    op.entries = reals(k, entries_of(g), g->own);
    op.winner = make_winners(k, g->own, 1, 0);
    op.y = real_matrix(k, NULL, g->own, 1);
    assert_ok(op_reduce(k, &op));
    double *y = values_of(k, op.y);
    for (int64_t v = 0; v < g->own; v++) assert_int_equal(isnan(y[v]) != 0, has_arc(g, v, 17));
  }
  layout_free(k, layout);
  csr_free(&m);
}

TEST(a_nan_comes_through) {
  on_every_type(not_a_number);
}
