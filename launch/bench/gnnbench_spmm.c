#include "launch/bench/bench.h"

struct spmm_case {
  struct csr *graph, *written; /* of a scaled product with self loops; written: with values, for the peer */
  struct bench_matrix x, y;
  struct bench_matrix scale; /* [nodes, 1] in reals; of a scaled product */
  struct bench_peer peer;
};

BENCH_RUN(spmm)

/* 1 / sqrt(degree). */
static double scale_of(const void *context, int64_t v, int64_t j) {
  const struct csr *m = context;
  (void)j;
  return 1 / sqrt((double)(m->start[v + 1] - m->start[v]));
}

static void product_row(const void *context, int64_t v, double *row) {
  const struct spmm_case *c = context;
  const struct csr *m = c->graph;
  int scaled = c->scale.host != NULL;
  for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
    double w = (m->weight ? (double)m->weight[e] : 1) * (scaled ? bench_value(&c->scale, m->col[e], 0) : 1);
    if (scaled) w *= bench_value(&c->scale, v, 0);
    for (int64_t j = 0; j < c->x.tensor.cols; j++) row[j] += w * bench_value(&c->x, m->col[e], j);
  }
}

/* A + I: each row that has no self loop gets one of weight 1, in its place. */
static int add_loops(struct bench *bench, const struct csr *m, struct csr **made) {
  TRY(bench_csr(bench, m->rows, m->cols, m->nnz + m->rows, m->weight != NULL, made));
  struct csr *to = *made;
  for (int64_t v = 0, at = 0; v < m->rows; v++) {
    int64_t e = m->start[v], end = m->start[v + 1];
    for (int looped = 0; e < end || !looped; at++) {
      int added = !looped && (e == end || m->col[e] > v);
      to->col[at] = added ? (int32_t)v : m->col[e];
      if (m->weight) to->weight[at] = added ? 1 : m->weight[e];
      looped |= to->col[at] == v;
      e += !added;
    }
    to->nnz = to->start[v + 1] = at;
  }
  return OK;
}

/* The scaled matrix with its values written out. */
static int write_out(struct bench *bench, const struct csr *m, struct csr **to) {
  TRY(bench_csr(bench, m->rows, m->cols, m->nnz, 1, to));
  for (int64_t v = 0; v < m->rows; v++) {
    (*to)->start[v + 1] = m->start[v + 1];
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      double w = m->weight ? (double)m->weight[e] : 1;
      (*to)->col[e] = m->col[e];
      (*to)->weight[e] = (float)(w * scale_of(m, v, 0) * scale_of(m, m->col[e], 0));
    }
  }
  return OK;
}

static int measure(struct bench *bench, void *of, int64_t width) {
  struct spmm_case *c = of;
  const struct csr *m = c->graph;
  struct spmm op = {.col_scale = c->scale.tensor.data, .row_scale = c->scale.tensor.data};
  struct layout *layout = NULL;
  TRY(bench_matrix_noise(bench, &c->x, bench->kernels.dtype, m->cols, width, 1));
  TRY(bench_matrix_alloc(bench, &c->y, bench->kernels.dtype, m->rows, width));
  double element = (double)dtype_bytes(bench->kernels.dtype), nnz = (double)m->nnz, columns = (double)width;
  struct bench_row row = bench_graph_row(bench, "spmm", m, width, c->scale.host ? " scaled" : "");
  row.flops = 2 * nnz * columns;
  row.bytes = nnz * (4 + columns * element + (m->weight ? 4 : 0)) + (double)m->rows * (8 + columns * element);
  if (c->scale.host) row.bytes += (double)m->rows * 8;
  const struct layout_plan plan = {.tiers = bench->options->sparse.tiers,
                                   .width = width,
                                   .vector_threshold = bench->options->sparse.threshold};
  TRY(bench_layout_of(bench, m, &plan, &layout));
  op.a = layout;
  op.x = c->x.tensor;
  op.y = c->y.tensor;
  TRY(bench_peer_time(bench, &c->peer, &c->x, &c->y, &row));
  return bench_measure(bench, &row, run_spmm, &op,
                       &(struct bench_check){&c->y, product_row, c, BENCH_SAMPLE});
}

int gnnbench_spmm(struct bench *bench) {
  struct spmm_case c = {0};
  const struct bench_options *options = bench->options;
  if (options->sparse.all && options->sparse.ablate) FAIL(BAD_INPUT, "--all and --ablate exclude each other");
  if (options->sparse.graphs > 0 && !options->sparse.all && !options->sparse.ablate)
    FAIL(BAD_INPUT, "--graph goes with --all or --ablate; without these spmm measures --dataset FILE.h5 or a "
                    "random graph");
  if (options->sparse.all) return gnnbench_spmm_all(bench);
  if (options->sparse.ablate) return gnnbench_spmm_ablate(bench);
  TRY(bench_graph(bench, &c.graph));
  if (options->sparse.weighted) TRY(bench_weigh(c.graph));
  c.written = c.graph;
  if (options->sparse.scaled) { /* D^-1/2 (A + I) D^-1/2 in factors, as training has it, and written out */
    TRY(add_loops(bench, c.graph, &c.graph));
    TRY(bench_column(bench, &c.scale, c.graph->rows, scale_of, c.graph));
    TRY(write_out(bench, c.graph, &c.written));
  }
  TRY(bench_peer_open(bench, c.written, &c.peer));
  return bench_each_width(bench, measure, &c);
}
