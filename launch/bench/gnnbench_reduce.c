#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/ops/reduce.h"
#include "kernels/ops/sparse.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

/* What the rows of one width work on. */
struct reduce_case {
  struct csr graph;
  struct layout *layout;
  struct bench_matrix x, y, entries; /* entries: of each row, in reals */
  struct winners winner;             /* on the device, whose rows are as y's of reals would be */
  int32_t *won;                      /* the same on the host */
  int64_t *id, *device_id;           /* node v is v */
};

static int run_forward(struct kernels *k, const void *op) {
  return op_reduce(k, op);
}

static int run_backward(struct kernels *k, const void *op) {
  return op_reduce_backward(k, op);
}

/* Number j of row v, in double. */
static double reduced(const struct reduce_case *c, enum reducer reducer, int64_t v, int64_t j) {
  const struct csr *m = &c->graph;
  double n = (double)(m->start[v + 1] - m->start[v]), a = 0;
  switch (reducer) {
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

/* What the rows that have v give to it; the graph is read as a transposed one. */
static double won_by(const struct reduce_case *c, int64_t v, int64_t j) {
  const struct csr *m = &c->graph;
  double sum = 0;
  for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
    if (c->won[m->col[e] * c->winner.stride + j] == v) sum += bench_value(&c->x, m->col[e], j);
  }
  return sum;
}

/* Largest difference of sampled rows of y from their reference, over the largest of these. */
static int compare(struct bench *bench, struct reduce_case *c, enum reducer reducer, int backward,
                   double *error) {
  double largest = 0, difference = 0;
  int64_t rows = c->graph.rows, step = rows / BENCH_SAMPLE + 1;
  TRY(bench_matrix_download(bench, &c->y));
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < rows; v += step) {
    for (int64_t j = 0; j < c->y.tensor.cols; j++) {
      double expected = backward ? won_by(c, v, j) : reduced(c, reducer, v, j);
      largest = fmax(largest, fabs(expected));
      difference = fmax(difference, fabs(expected - bench_value(&c->y, v, j)));
    }
  }
  *error = largest > 0 ? difference / largest : difference;
  return OK;
}

static struct bench_row row_of(const struct bench *bench, const struct reduce_case *c, const char *name) {
  const struct csr *m = &c->graph;
  double columns = (double)c->x.tensor.cols, nnz = (double)m->nnz;
  double element = (double)dtype_bytes(bench->kernels.dtype);
  struct bench_row row = {.name = name, .flops = nnz * columns};
  row.bytes = nnz * (4 + columns * element) + (double)m->rows * columns * element;
  snprintf(row.shape, sizeof row.shape, "%lldx%lld nnz %lld width %lld", (long long)m->rows,
           (long long)m->cols, (long long)m->nnz, (long long)c->x.tensor.cols);
  return row;
}

static int measure_reducer(struct bench *bench, struct reduce_case *c, enum reducer reducer) {
  struct bench_row row = row_of(bench, c, reducer_name[reducer]);
  struct reduce op = {.a = c->layout, .reducer = reducer, .x = c->x.tensor, .y = c->y.tensor};
  op.col_id = op.id = c->device_id;
  op.entries = c->entries.tensor.data;
  op.winner = c->winner;
  if (reducer_chooses(reducer)) row.bytes += 4 * (double)(c->y.tensor.rows * c->y.tensor.cols);
  TRY(bench_time(bench, run_forward, &op, &row));
  TRY(compare(bench, c, reducer, 0, &row.error));
  bench_print(bench, &row);
  return OK;
}

/* From the winners that the last reducer left; x serves as the gradient. */
static int measure_backward(struct bench *bench, struct reduce_case *c) {
  struct bench_row row = row_of(bench, c, "gradient");
  struct reduce_backward op = {
      .a = c->layout, .dy = c->x.tensor, .winner = c->winner, .id = c->device_id, .dx = c->y.tensor};
  int64_t bytes = c->y.tensor.rows * c->winner.stride * (int64_t)sizeof *c->won;
  row.bytes = (double)c->graph.nnz * (4 + 4 * (double)c->x.tensor.cols) + (double)tensor_bytes(c->y.tensor);
  TRY(bench_time(bench, run_backward, &op, &row));
  TRY(device_download(&bench->device, STREAM_COMPUTE, c->won, c->winner.id, bytes));
  TRY(compare(bench, c, REDUCER_MAX, 1, &row.error));
  bench_print(bench, &row);
  return OK;
}

static double entries_of(const void *context, int64_t v, int64_t j) {
  const struct csr *m = context;
  (void)j;
  return (double)(m->start[v + 1] - m->start[v]);
}

static int prepare(struct bench *bench, struct reduce_case *c, int64_t width) {
  const struct csr *m = &c->graph;
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = width};
  c->winner.stride = tensor_stride(F32, width);
  int64_t bytes = m->rows * c->winner.stride * (int64_t)sizeof *c->won;
  TRY(bench_matrix_init(bench, &c->x, m->cols, width, 1));
  TRY(bench_matrix_init(bench, &c->y, m->rows, width, 2));
  TRY(memory_alloc(&c->won, bytes, "benchmark winners"));
  TRY(device_alloc(&bench->device, bytes, (void **)&c->winner.id, "benchmark winners"));
  return layout_init(&bench->kernels, m, &plan, &c->layout);
}

static void release(struct bench *bench, struct reduce_case *c) {
  layout_free(&bench->kernels, c->layout);
  bench_matrix_free(bench, &c->x);
  bench_matrix_free(bench, &c->y);
  device_release(&bench->device, c->winner.id);
  free(c->won);
  c->layout = NULL;
  c->winner.id = c->won = NULL;
}

static int measure(struct bench *bench, struct reduce_case *c, int64_t width) {
  int code = prepare(bench, c, width);
  for (enum reducer r = 0; r < REDUCER_COUNT && code == OK; r++) code = measure_reducer(bench, c, r);
  if (code == OK) code = measure_backward(bench, c);
  release(bench, c);
  return code;
}

static int measure_all(struct bench *bench, struct reduce_case *c) {
  TRY(bench_graph(bench->options, &c->graph));
  int64_t rows = c->graph.rows, bytes = rows * (int64_t)sizeof *c->id;
  if (rows != c->graph.cols) FAIL(BAD_INPUT, "gnnbench reduce: a square matrix is needed");
  TRY(bench_matrix_alloc(bench, &c->entries, bench->kernels.real, rows, 1));
  c->entries.tensor.stride = 1;
  TRY(bench_matrix_fill(bench, &c->entries, entries_of, &c->graph));
  TRY(memory_alloc(&c->id, bytes, "node ids"));
  for (int64_t v = 0; v < rows; v++) c->id[v] = v;
  TRY(device_alloc(&bench->device, bytes, (void **)&c->device_id, "node ids"));
  TRY(device_upload(&bench->device, STREAM_COMPUTE, c->device_id, c->id, bytes));
  for (int i = 0; i < bench->options->widths; i++) TRY(measure(bench, c, bench->options->width[i]));
  return OK;
}

int gnnbench_reduce(struct bench *bench) {
  struct reduce_case c = {0};
  int code = measure_all(bench, &c);
  bench_matrix_free(bench, &c.entries);
  device_release(&bench->device, c.device_id);
  free(c.id);
  csr_free(&c.graph);
  return code;
}
