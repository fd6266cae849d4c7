#include <math.h>
#include <stdio.h>

#include "launch/gnnbench.h"
#include "runtime/error.h"

/* What one row of the report owns. */
struct spmm_case {
  struct csr graph;
  struct layout *layout;
  struct bench_matrix x, y;
  struct bench_peer peer;
};

static int run(struct kernels *k, const void *op) {
  return op_spmm(k, op);
}

/* Largest difference of sampled rows from their sums in double, over the largest of these. */
static double error_of(const struct spmm_case *c) {
  const struct csr *m = &c->graph;
  int64_t step = m->rows / BENCH_SAMPLE + 1;
  double largest = 0, difference = 0;
  for (int64_t v = 0; v < m->rows; v += step) {
    for (int64_t j = 0; j < c->x.tensor.cols; j++) {
      double sum = 0;
      for (int64_t e = m->start[v]; e < m->start[v + 1]; e++)
        sum += (m->weight ? (double)m->weight[e] : 1) * bench_value(&c->x, m->col[e], j);
      largest = fmax(largest, fabs(sum));
      difference = fmax(difference, fabs(sum - bench_value(&c->y, v, j)));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

static int measure(struct bench *bench, struct spmm_case *c, int64_t width) {
  const struct csr *m = &c->graph;
  TRY(bench_matrix_init(bench, &c->x, m->cols, width, 1));
  TRY(bench_matrix_init(bench, &c->y, m->rows, width, 2));
  double element = (double)dtype_bytes(bench->kernels.dtype), nnz = (double)m->nnz, columns = (double)width;
  struct bench_row row = {.name = "spmm", .flops = 2 * nnz * columns};
  row.bytes = nnz * (4 + columns * element + (m->weight ? 4 : 0)) + (double)m->rows * (8 + columns * element);
  snprintf(row.shape, sizeof row.shape, "%lldx%lld nnz %lld width %lld", (long long)m->rows,
           (long long)m->cols, (long long)m->nnz, (long long)width);
  struct spmm op = {.a = c->layout, .x = c->x.tensor, .y = c->y.tensor};
  TRY(bench_time(bench, run, &op, &row));
  TRY(bench_matrix_download(bench, &c->y));
  row.error = error_of(c);
  TRY(bench_peer_time(bench, &c->peer, c->x.tensor, c->y.tensor, &row));
  bench_print(bench, &row);
  return OK;
}

static int measure_all(struct bench *bench, struct spmm_case *c) {
  TRY(bench_graph(bench->options, &c->graph));
  TRY(layout_init(&bench->kernels, &c->graph, &c->layout));
  TRY(bench_peer_open(bench, &c->graph, &c->peer));
  for (int i = 0; i < bench->options->widths; i++) {
    int code = measure(bench, c, bench->options->width[i]);
    bench_matrix_free(bench, &c->x);
    bench_matrix_free(bench, &c->y);
    TRY(code);
  }
  return OK;
}

int gnnbench_spmm(struct bench *bench) {
  struct spmm_case c = {0};
  int code = measure_all(bench, &c);
  bench_peer_close(bench, &c.peer);
  layout_free(&bench->kernels, c.layout);
  csr_free(&c.graph);
  return code;
}
