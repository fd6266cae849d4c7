#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/ops/attention.h"
#include "kernels/ops/sparse.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"

/* What one row of the report owns. */
struct sddmm_case {
  struct csr graph;
  struct layout *layout;
  struct bench_matrix x, y, scores;   /* scores: [1, nnz] in reals */
  struct bench_matrix peer_x, peer_y; /* F32, where x and y are not */
  struct bench_peer peer;
};

static int run(struct kernels *k, const void *op) {
  return op_sddmm(k, op);
}

static double score_of(const struct sddmm_case *c, int64_t v, int64_t u) {
  double sum = 0;
  for (int64_t j = 0; j < c->x.tensor.cols; j++) sum += bench_value(&c->x, v, j) * bench_value(&c->y, u, j);
  return sum;
}

/* Largest difference of the scores of sampled rows from those in double, over the largest of these. */
static double error_of(const struct sddmm_case *c) {
  const struct csr *m = &c->graph;
  int64_t step = m->rows / BENCH_SAMPLE + 1;
  double largest = 0, difference = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < m->rows; v += step) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      double expected = score_of(c, v, m->col[e]);
      largest = fmax(largest, fabs(expected));
      difference = fmax(difference, fabs(expected - bench_value(&c->scores, 0, e)));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

static double value_of(const void *context, int64_t i, int64_t j) {
  return bench_value(context, i, j);
}

static int widen(struct bench *bench, const struct bench_matrix *m, struct bench_matrix *wide) {
  TRY(bench_matrix_alloc(bench, wide, F32, m->tensor.rows, m->tensor.cols));
  return bench_matrix_fill(bench, wide, value_of, m);
}

static int time_peer(struct bench *bench, struct sddmm_case *c, struct bench_row *row) {
  struct tensor x = c->x.tensor, y = c->y.tensor;
  if (!c->peer.ops) return OK;
  if (x.dtype != F32) {
    TRY(widen(bench, &c->x, &c->peer_x));
    TRY(widen(bench, &c->y, &c->peer_y));
    x = c->peer_x.tensor;
    y = c->peer_y.tensor;
  }
  return bench_peer_time_scores(bench, &c->peer, x, y, row);
}

static int measure(struct bench *bench, struct sddmm_case *c, int64_t width) {
  const struct csr *m = &c->graph;
  const struct kernels *k = &bench->kernels;
  TRY(bench_matrix_init(bench, &c->x, m->rows, width, 1));
  TRY(bench_matrix_init(bench, &c->y, m->cols, width, 2));
  struct sddmm op = {c->layout, c->x.tensor, c->y.tensor, c->scores.tensor.data};
  double row_bytes = (double)(width * dtype_bytes(k->dtype)), nnz = (double)m->nnz;
  struct bench_row row = {.name = "sddmm", .flops = 2 * nnz * (double)width};
  row.bytes = nnz * (4 + row_bytes + (double)dtype_bytes(k->real)) + (double)m->rows * row_bytes;
  if (!bench->device.ops->on_host) row.limit = BENCH_L2_LIMIT;
  snprintf(row.shape, sizeof row.shape, "%lldx%lld nnz %lld width %lld", (long long)m->rows,
           (long long)m->cols, (long long)m->nnz, (long long)width);
  TRY(bench_time(bench, run, &op, &row));
  TRY(bench_matrix_download(bench, &c->scores));
  row.error = error_of(c);
  TRY(time_peer(bench, c, &row));
  bench_print(bench, &row);
  return OK;
}

static int measure_all(struct bench *bench, struct sddmm_case *c) {
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = bench->options->width[0]};
  TRY(bench_graph(bench->options, &c->graph));
  TRY(layout_init(&bench->kernels, &c->graph, &plan, &c->layout));
  TRY(bench_peer_open(bench, &c->graph, &c->peer));
  TRY(bench_matrix_alloc(bench, &c->scores, bench->kernels.real, 1, c->graph.nnz));
  for (int i = 0; i < bench->options->widths; i++) {
    int code = measure(bench, c, bench->options->width[i]);
    bench_matrix_free(bench, &c->x);
    bench_matrix_free(bench, &c->y);
    bench_matrix_free(bench, &c->peer_x);
    bench_matrix_free(bench, &c->peer_y);
    TRY(code);
  }
  return OK;
}

int gnnbench_sddmm(struct bench *bench) {
  struct sddmm_case c = {0};
  int code = measure_all(bench, &c);
  bench_peer_close(bench, &c.peer);
  bench_matrix_free(bench, &c.scores);
  layout_free(&bench->kernels, c.layout);
  csr_free(&c.graph);
  return code;
}
