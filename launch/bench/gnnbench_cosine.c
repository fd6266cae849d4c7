/* Rows of `gnnbench attention` for attention by cosines, forward and backward, as one rank has it on a
 * symmetric graph: arcs in and out are seen in one pass. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/ops/attention.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"

enum { SAMPLE = BENCH_SAMPLE / 4 };
static const double BETA = 1.5;

enum matrix { X, DZ, Y, LOG_SUM, FORWARD, BACKWARD, DX, DN, BETA_GRAD, BETAS, MATRICES };

struct cosine_case {
  const struct csr *graph;
  struct layout *layout;
  int64_t width;
  struct bench_matrix matrix[MATRICES];
};

static struct tensor of(const struct cosine_case *c, enum matrix m) {
  return c->matrix[m].tensor;
}

static double value(const struct cosine_case *c, enum matrix m, int64_t i, int64_t j) {
  return bench_value(&c->matrix[m], i, j);
}

static int run_forward(struct kernels *k, const void *op) {
  return op_cosine_attention(k, op);
}

static int run_backward(struct kernels *k, const void *op) {
  return op_cosine_backward(k, op);
}

static double product(const struct cosine_case *c, enum matrix a, int64_t v, enum matrix b, int64_t u) {
  double sum = 0;
  for (int64_t j = 0; j < c->width; j++) sum += value(c, a, v, j) * value(c, b, u, j);
  return sum;
}

static double cosine(const struct cosine_case *c, int64_t v, int64_t u) {
  return product(c, X, v, X, u) / sqrt(product(c, X, v, X, v) * product(c, X, u, X, u));
}

/* Row v of y in double; e before the row's entries: the node itself. */
static void forward_of(const struct cosine_case *c, int64_t v, double *y) {
  const struct csr *m = c->graph;
  double total = 0;
  for (int64_t e = m->start[v] - 1; e < m->start[v + 1]; e++) {
    int64_t u = e < m->start[v] ? v : m->col[e];
    double weight = exp(BETA * cosine(c, v, u));
    total += weight;
    for (int64_t j = 0; j < c->width; j++) y[j] += weight * value(c, X, u, j);
  }
  for (int64_t j = 0; j < c->width; j++) y[j] /= total;
}

/* The gradient of the score of (v <- u), from what the forward left. */
static double score_gradient(const struct cosine_case *c, double cosine_of, int64_t v, int64_t u) {
  double a = exp(BETA * cosine_of - value(c, LOG_SUM, v, 0));
  return a * (product(c, DZ, v, X, u) - product(c, DZ, v, Y, v));
}

/* Row v of dn. */
static void backward_of(const struct cosine_case *c, int64_t v, double *dn) {
  const struct csr *m = c->graph;
  for (int64_t e = m->start[v] - 1; e < m->start[v + 1]; e++) {
    int64_t u = e < m->start[v] ? v : m->col[e];
    double of_arc = cosine(c, v, u), length = sqrt(product(c, X, u, X, u));
    double factor = score_gradient(c, of_arc, v, u) + score_gradient(c, of_arc, u, v);
    for (int64_t j = 0; j < c->width; j++) dn[j] += BETA * factor * value(c, X, u, j) / length;
  }
}

/* Largest difference on sampled rows over the largest element. */
static double error_of(const struct cosine_case *c, enum matrix m,
                       void (*expected)(const struct cosine_case *c, int64_t v, double *row)) {
  int64_t rows = c->graph->rows, step = rows / SAMPLE + 1;
  double largest = 0, difference = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < rows; v += step) {
    double *row = calloc((size_t)c->width, sizeof *row);
    if (!row) abort();
    expected(c, v, row);
    for (int64_t j = 0; j < c->width; j++) {
      largest = fmax(largest, fabs(row[j]));
      difference = fmax(difference, fabs(row[j] - value(c, m, v, j)));
    }
    free(row);
  }
  return largest > 0 ? difference / largest : difference;
}

/* gathered: matrices of which each arc brings a row, with so many numbers beside it; moved: of the nodes. */
static struct bench_row row_of(const struct bench *bench, const struct cosine_case *c, const char *name,
                               int gathered, int numbers, int moved, int products) {
  struct bench_row row = {.name = name};
  double element = (double)dtype_bytes(bench->kernels.dtype), real = (double)dtype_bytes(bench->kernels.real);
  double arcs = (double)(c->graph->nnz + c->graph->rows), width = (double)c->width;
  row.bytes = arcs * (4 + gathered * width * element + numbers * real) +
              (double)c->graph->rows * moved * width * element;
  row.flops = 2 * products * arcs * width;
  if (!bench->device.ops->on_host) row.limit = BENCH_L2_LIMIT;
  snprintf(row.shape, sizeof row.shape, "%lldx%lld nnz %lld width %lld", (long long)c->graph->rows,
           (long long)c->graph->cols, (long long)c->graph->nnz, (long long)c->width);
  return row;
}

static int measure_forward(struct bench *bench, struct cosine_case *c) {
  struct cosine_attention op = {.a = c->layout,
                                .message = of(c, FORWARD),
                                .rows = of(c, FORWARD),
                                .beta = of(c, BETAS).data,
                                .self = 1,
                                .log_sum = of(c, LOG_SUM),
                                .y = of(c, Y)};
  struct bench_row row = row_of(bench, c, "cosine", 1, 1, 2, 2);
  TRY(op_cosine_rows(&bench->kernels, &(struct cosine_rows){.x = of(c, X), .message = of(c, FORWARD)}));
  TRY(bench_time(bench, run_forward, &op, &row));
  TRY(bench_matrix_download(bench, &c->matrix[Y]));
  TRY(bench_matrix_download(bench, &c->matrix[LOG_SUM]));
  row.error = error_of(c, Y, forward_of);
  bench_print(bench, &row);
  return OK;
}

static int measure_backward(struct bench *bench, struct cosine_case *c) {
  struct cosine_rows rows = {
      .x = of(c, X), .dz = of(c, DZ), .y = of(c, Y), .log_sum = of(c, LOG_SUM), .message = of(c, BACKWARD)};
  struct cosine_backward op = {.a = c->layout,
                               .arcs = COSINE_IN | COSINE_OUT,
                               .message = of(c, BACKWARD),
                               .rows = of(c, BACKWARD),
                               .beta = of(c, BETAS).data,
                               .self = 1,
                               .dx = of(c, DX),
                               .dn = of(c, DN),
                               .beta_grad = of(c, BETA_GRAD)};
  struct bench_row row = row_of(bench, c, "gradient", 2, 3, 4, 5);
  TRY(op_cosine_rows(&bench->kernels, &rows));
  TRY(bench_time(bench, run_backward, &op, &row));
  TRY(bench_matrix_download(bench, &c->matrix[DN]));
  row.error = error_of(c, DN, backward_of);
  bench_print(bench, &row);
  return OK;
}

static double beta(const void *context, int64_t i, int64_t j) {
  (void)context, (void)i, (void)j;
  return BETA;
}

static int measure(struct bench *bench, struct cosine_case *c) {
  const struct kernels *k = &bench->kernels;
  int64_t rows = c->graph->rows, width = c->width;
  TRY(bench_matrix_init(bench, &c->matrix[X], rows, width, 1));
  TRY(bench_matrix_init(bench, &c->matrix[DZ], rows, width, 2));
  TRY(bench_matrix_alloc(bench, &c->matrix[Y], k->dtype, rows, width));
  TRY(bench_matrix_alloc(bench, &c->matrix[LOG_SUM], k->real, rows, 1));
  TRY(bench_matrix_alloc(bench, &c->matrix[FORWARD], k->dtype, rows, cosine_message_cols(k, width, 0)));
  TRY(bench_matrix_alloc(bench, &c->matrix[BACKWARD], k->dtype, rows, cosine_message_cols(k, width, 1)));
  TRY(bench_matrix_alloc(bench, &c->matrix[DX], k->dtype, rows, width));
  TRY(bench_matrix_alloc(bench, &c->matrix[DN], k->dtype, rows, width));
  TRY(bench_matrix_alloc(bench, &c->matrix[BETA_GRAD], k->real, rows, 1));
  TRY(bench_matrix_alloc(bench, &c->matrix[BETAS], k->real, 1, 1));
  TRY(bench_matrix_fill(bench, &c->matrix[BETAS], beta, NULL));
  TRY(measure_forward(bench, c));
  return measure_backward(bench, c);
}

int bench_cosine(struct bench *bench, const struct csr *graph, struct layout *layout, int64_t width) {
  struct cosine_case c = {.graph = graph, .layout = layout, .width = width};
  int code = measure(bench, &c);
  for (int m = 0; m < MATRICES; m++) bench_matrix_free(bench, &c.matrix[m]);
  return code;
}
