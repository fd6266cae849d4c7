#include "kernels/ops/attention.h"
#include "launch/bench/bench.h"

struct sddmm_case {
  struct csr *graph;
  struct layout *layout;
  struct bench_matrix x, y, scores; /* scores: a column of reals, one an arc */
  struct bench_peer peer;
};

BENCH_RUN(sddmm)

/* Largest difference of the scores of sampled rows from those in double, over the largest of these. */
static int compare(struct bench *bench, struct sddmm_case *c, double *error) {
  const struct csr *m = c->graph;
  int64_t step = m->rows / BENCH_SAMPLE + 1;
  double largest = 0, difference = 0;
  TRY(bench_matrix_download(bench, &c->scores, 1));
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < m->rows; v += step) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      double sum = 0;
      for (int64_t j = 0; j < c->x.tensor.cols; j++)
        sum += bench_value(&c->x, v, j) * bench_value(&c->y, m->col[e], j);
      largest = fmax(largest, fabs(sum));
      difference = fmax(difference, fabs(sum - bench_value(&c->scores, e, 0)));
    }
  }
  *error = largest > 0 ? difference / largest : difference;
  return OK;
}

static int measure(struct bench *bench, void *of, int64_t width) {
  struct sddmm_case *c = of;
  const struct csr *m = c->graph;
  const struct kernels *k = &bench->kernels;
  TRY(bench_matrix_noise(bench, &c->x, k->dtype, m->rows, width, 1));
  TRY(bench_matrix_noise(bench, &c->y, k->dtype, m->cols, width, 2));
  struct sddmm op = {c->layout, c->x.tensor, c->y.tensor, c->scores.tensor.data};
  double row_bytes = (double)(width * dtype_bytes(k->dtype)), nnz = (double)m->nnz;
  struct bench_row row = bench_graph_row(bench, "sddmm", m, width, "");
  row.flops = 2 * nnz * (double)width;
  row.bytes = nnz * (4 + row_bytes + (double)dtype_bytes(k->real)) + (double)m->rows * row_bytes;
  TRY(bench_time(bench, run_sddmm, &op, &row));
  TRY(compare(bench, c, &row.error));
  TRY(bench_peer_time_scores(bench, &c->peer, &c->x, &c->y, &row));
  bench_print(bench, &row);
  return OK;
}

int gnnbench_sddmm(struct bench *bench) {
  struct sddmm_case c = {0};
  TRY(bench_graph(bench, &c.graph));
  TRY(bench_layout(bench, c.graph, LAYOUT_GATHER, bench->options->width[0], &c.layout));
  TRY(bench_peer_open(bench, c.graph, &c.peer));
  TRY(bench_column(bench, &c.scores, c.graph->nnz, NULL, NULL));
  return bench_each_width(bench, measure, &c);
}
