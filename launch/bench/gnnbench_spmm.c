#include <math.h>
#include <stdio.h>

#include "kernels/ops/sparse.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

/* What one row of the report owns. */
struct spmm_case {
  struct csr graph, written; /* of a scaled product with self loops; written: with values, for the peer */
  struct layout *layout;
  struct bench_matrix x, y;
  struct bench_matrix scale;          /* [nodes, 1] in reals; of a scaled product */
  struct bench_matrix peer_x, peer_y; /* F32; of their own where x and y are not */
  struct bench_peer peer;
};

static int run(struct kernels *k, const void *op) {
  return op_spmm(k, op);
}

/* 1 / sqrt(degree). */
static double scale_of(const void *context, int64_t v, int64_t j) {
  const struct csr *m = context;
  (void)j;
  return 1 / sqrt((double)(m->start[v + 1] - m->start[v]));
}

/* Element (v, j) of the product, in double. */
static double product_of(const struct spmm_case *c, int64_t v, int64_t j) {
  const struct csr *m = &c->graph;
  int scaled = c->scale.host != NULL;
  double sum = 0;
  for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
    double w = (m->weight ? (double)m->weight[e] : 1) * (scaled ? bench_value(&c->scale, m->col[e], 0) : 1);
    sum += w * bench_value(&c->x, m->col[e], j);
  }
  return scaled ? bench_value(&c->scale, v, 0) * sum : sum;
}

/* Largest difference of sampled rows from their sums in double, over the largest of these. */
static double error_of(const struct spmm_case *c) {
  int64_t rows = c->graph.rows, step = rows / BENCH_SAMPLE + 1;
  double largest = 0, difference = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < rows; v += step) {
    for (int64_t j = 0; j < c->x.tensor.cols; j++) {
      double expected = product_of(c, v, j);
      largest = fmax(largest, fabs(expected));
      difference = fmax(difference, fabs(expected - bench_value(&c->y, v, j)));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

/* A + I: each row that has no self loop gets one of weight 1, in its place. */
static int add_loops(const struct csr *m, struct csr *to) {
  TRY(csr_init(to, m->rows, m->cols, m->nnz + m->rows, m->weight != NULL));
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
static int write_out(const struct csr *m, struct csr *to) {
  TRY(csr_init(to, m->rows, m->cols, m->nnz, 1));
  for (int64_t v = 0; v < m->rows; v++) {
    to->start[v + 1] = m->start[v + 1];
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      double w = m->weight ? (double)m->weight[e] : 1;
      to->col[e] = m->col[e];
      to->weight[e] = (float)(w * scale_of(m, v, 0) * scale_of(m, m->col[e], 0));
    }
  }
  return OK;
}

/* D^-1/2 (A + I) D^-1/2 in factors, as training has it, and written out. */
static int init_scaled(struct bench *bench, struct spmm_case *c) {
  struct csr bare = c->graph;
  c->graph = (struct csr){0};
  int code = add_loops(&bare, &c->graph);
  csr_free(&bare);
  TRY(code);
  TRY(bench_matrix_alloc(bench, &c->scale, bench->kernels.real, c->graph.rows, 1));
  c->scale.tensor.stride = 1;
  TRY(bench_matrix_fill(bench, &c->scale, scale_of, &c->graph));
  return write_out(&c->graph, &c->written);
}

static double value_of_x(const void *context, int64_t i, int64_t j) {
  return bench_value(context, i, j);
}

static int time_peer(struct bench *bench, struct spmm_case *c, struct bench_row *row) {
  struct tensor x = c->x.tensor, y = c->y.tensor;
  if (!c->peer.ops) return OK;
  if (x.dtype != F32) {
    TRY(bench_matrix_alloc(bench, &c->peer_x, F32, x.rows, x.cols));
    TRY(bench_matrix_fill(bench, &c->peer_x, value_of_x, &c->x));
    TRY(bench_matrix_alloc(bench, &c->peer_y, F32, y.rows, y.cols));
    x = c->peer_x.tensor;
    y = c->peer_y.tensor;
  }
  return bench_peer_time(bench, &c->peer, x, y, row);
}

static struct spmm product(const struct spmm_case *c) {
  struct spmm op = {.a = c->layout, .x = c->x.tensor, .y = c->y.tensor};
  if (c->scale.host) op.col_scale = op.row_scale = c->scale.tensor.data;
  return op;
}

static int measure(struct bench *bench, struct spmm_case *c, int64_t width) {
  const struct csr *m = &c->graph;
  TRY(bench_matrix_init(bench, &c->x, m->cols, width, 1));
  TRY(bench_matrix_init(bench, &c->y, m->rows, width, 2));
  double element = (double)dtype_bytes(bench->kernels.dtype), nnz = (double)m->nnz, columns = (double)width;
  struct bench_row row = {.name = "spmm", .flops = 2 * nnz * columns};
  row.bytes = nnz * (4 + columns * element + (m->weight ? 4 : 0)) + (double)m->rows * (8 + columns * element);
  if (c->scale.host) row.bytes += (double)m->rows * 8;
  if (!bench->device.ops->on_host) row.limit = BENCH_L2_LIMIT;
  snprintf(row.shape, sizeof row.shape, "%lldx%lld nnz %lld width %lld%s", (long long)m->rows,
           (long long)m->cols, (long long)m->nnz, (long long)width, c->scale.host ? " scaled" : "");
  const struct layout_plan plan = {.tiers = bench->options->sparse.tiers, .width = width};
  TRY(layout_init(&bench->kernels, m, &plan, &c->layout));
  struct spmm op = product(c);
  TRY(bench_time(bench, run, &op, &row));
  TRY(bench_matrix_download(bench, &c->y));
  row.error = error_of(c);
  TRY(time_peer(bench, c, &row));
  bench_print(bench, &row);
  return OK;
}

static int measure_all(struct bench *bench, struct spmm_case *c) {
  int scaled = bench->options->sparse.scaled;
  TRY(bench_graph(bench->options, &c->graph));
  if (bench->options->sparse.weighted) TRY(bench_weigh(&c->graph));
  if (scaled) TRY(init_scaled(bench, c));
  TRY(bench_peer_open(bench, scaled ? &c->written : &c->graph, &c->peer));
  for (int i = 0; i < bench->options->widths; i++) {
    int code = measure(bench, c, bench->options->width[i]);
    layout_free(&bench->kernels, c->layout);
    c->layout = NULL;
    bench_matrix_free(bench, &c->x);
    bench_matrix_free(bench, &c->y);
    bench_matrix_free(bench, &c->peer_x);
    bench_matrix_free(bench, &c->peer_y);
    TRY(code);
  }
  return OK;
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
  int code = measure_all(bench, &c);
  bench_peer_close(bench, &c.peer);
  bench_matrix_free(bench, &c.scale);
  layout_free(&bench->kernels, c.layout);
  csr_free(&c.graph);
  csr_free(&c.written);
  return code;
}
