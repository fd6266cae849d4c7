#include "kernels/ops/reduce.h"
#include "launch/bench/bench.h"

/* What the rows of one width work on. */
struct reduce_case {
  struct csr *graph;
  struct layout *layout;
  struct bench_matrix x, y, entries; /* entries: of each row, in reals */
  struct winners winner;             /* on the device, whose rows are as y's of reals would be */
  int32_t *won;                      /* the same on the host */
  int64_t *id, *device_id;           /* node v is v */
  enum reducer reducer;
};

BENCH_RUN(reduce)
BENCH_RUN(reduce_backward)

/* Number j of row v, in double. */
static double reduced(const struct reduce_case *c, int64_t v, int64_t j) {
  const struct csr *m = c->graph;
  double n = (double)(m->start[v + 1] - m->start[v]), a = 0;
  switch (c->reducer) {
#define REDUCER(NAME, CHOOSES, START, STEP, END)              \
  case REDUCER_##NAME:                                        \
    a = START;                                                \
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) { \
      double x = bench_value(&c->x, m->col[e], j);            \
      if (CHOOSES)                                            \
        a = (STEP) ? x : a;                                   \
      else                                                    \
        a = (double)(STEP);                                   \
    }                                                         \
    return n > 0 ? (END) : 0;
    REDUCERS(REDUCER)
#undef REDUCER
  default:
    return a;
  }
}

static void reduced_row(const void *context, int64_t v, double *row) {
  const struct reduce_case *c = context;
  for (int64_t j = 0; j < c->x.tensor.cols; j++) row[j] = reduced(c, v, j);
}

/* What the rows that have v give to it; the graph is read as a transposed one. */
static void won_row(const void *context, int64_t v, double *row) {
  const struct reduce_case *c = context;
  const struct csr *m = c->graph;
  for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
    for (int64_t j = 0; j < c->x.tensor.cols; j++)
      if (c->won[m->col[e] * c->winner.stride + j] == v) row[j] += bench_value(&c->x, m->col[e], j);
  }
}

static struct bench_row row_of(const struct bench *bench, const struct reduce_case *c, const char *name) {
  struct bench_row row = bench_graph_row(bench, name, c->graph, c->x.tensor.cols, "");
  double columns = (double)c->x.tensor.cols, nnz = (double)c->graph->nnz;
  double element = (double)dtype_bytes(bench->kernels.dtype);
  row.limit = 0;
  row.flops = nnz * columns;
  row.bytes = nnz * (4 + columns * element) + (double)c->graph->rows * columns * element;
  return row;
}

static int measure_reducer(struct bench *bench, struct reduce_case *c) {
  struct bench_row row = row_of(bench, c, reducer_name[c->reducer]);
  struct reduce op = {.a = c->layout, .reducer = c->reducer, .x = c->x.tensor, .y = c->y.tensor};
  op.col_id = op.id = c->device_id;
  op.entries = c->entries.tensor.data;
  op.winner = c->winner;
  if (reducer_chooses(c->reducer)) row.bytes += 4 * (double)(c->y.tensor.rows * c->y.tensor.cols);
  return bench_measure(bench, &row, run_reduce, &op,
                       &(struct bench_check){&c->y, reduced_row, c, BENCH_SAMPLE});
}

/* From the winners that the last reducer left; x serves as the gradient. */
static int measure_backward(struct bench *bench, struct reduce_case *c, int64_t bytes) {
  struct bench_row row = row_of(bench, c, "gradient");
  struct reduce_backward op = {
      .a = c->layout, .dy = c->x.tensor, .winner = c->winner, .id = c->device_id, .dx = c->y.tensor};
  row.bytes = (double)c->graph->nnz * (4 + 4 * (double)c->x.tensor.cols) + (double)tensor_bytes(c->y.tensor);
  TRY(device_download(&bench->device, STREAM_COMPUTE, c->won, c->winner.id, bytes));
  return bench_measure(bench, &row, run_reduce_backward, &op,
                       &(struct bench_check){&c->y, won_row, c, BENCH_SAMPLE});
}

static double entries_of(const void *context, int64_t v, int64_t j) {
  const struct csr *m = context;
  (void)j;
  return (double)(m->start[v + 1] - m->start[v]);
}

static int measure(struct bench *bench, void *of, int64_t width) {
  struct reduce_case *c = of;
  const struct csr *m = c->graph;
  c->winner.stride = tensor_stride(F32, width);
  int64_t bytes = m->rows * c->winner.stride * (int64_t)sizeof *c->won;
  TRY(bench_matrix_noise(bench, &c->x, bench->kernels.dtype, m->cols, width, 1));
  TRY(bench_matrix_alloc(bench, &c->y, bench->kernels.dtype, m->rows, width));
  TRY(bench_array(bench, &c->won, m->rows * c->winner.stride));
  TRY(bench_upload(bench, NULL, bytes, &c->winner.id));
  TRY(bench_layout(bench, m, LAYOUT_GATHER, width, &c->layout));
  for (c->reducer = 0; c->reducer < REDUCER_COUNT; c->reducer++) TRY(measure_reducer(bench, c));
  return measure_backward(bench, c, bytes);
}

int gnnbench_reduce(struct bench *bench) {
  struct reduce_case c = {0};
  TRY(bench_graph(bench, &c.graph));
  int64_t rows = c.graph->rows;
  if (rows != c.graph->cols) FAIL(BAD_INPUT, "gnnbench reduce: a square matrix is needed");
  TRY(bench_column(bench, &c.entries, rows, entries_of, c.graph));
  TRY(bench_array(bench, &c.id, rows));
  for (int64_t v = 0; v < rows; v++) c.id[v] = v;
  TRY(bench_upload(bench, c.id, rows * (int64_t)sizeof *c.id, &c.device_id));
  return bench_each_width(bench, measure, &c);
}
