#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/ops/attention.h"
#include "kernels/ops/sparse.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"

enum { COPY_LIMIT = 4200 }; /* GB/s at most, of matrices read in order */

enum matrix {
  X,
  TERM,
  ROW_TERM,
  LOG_SUM,
  SHARE,
  Y,
  POSITIVE,
  DZ,
  MESSAGE,
  ROW_TERM_GRAD,
  TERM_GRAD,
  DX,
  LEFT,
  RIGHT,
  LEFT_GRAD,
  RIGHT_GRAD,
  MATRICES
};

/* What the rows of the report for one width own. */
struct attention_case {
  struct csr graph;
  struct layout *layout;
  int64_t width, heads;
  struct bench_matrix matrix[MATRICES];
};

static struct tensor of(const struct attention_case *c, enum matrix m) {
  return c->matrix[m].tensor;
}

static double value(const struct attention_case *c, enum matrix m, int64_t i, int64_t j) {
  return bench_value(&c->matrix[m], i, j);
}

static double noise(const void *context, int64_t i, int64_t j) {
  const uint64_t *seed = context;
  struct philox_block block = random_block((struct philox_key){{2026, 12}}, (uint64_t)(i * 4096 + j), *seed);
  return 2 * (double)random_unit(block.word[0]) - 1;
}

static int make(struct bench *bench, struct attention_case *c, enum matrix m, enum dtype dtype, int64_t rows,
                int64_t cols) {
  uint64_t seed = (uint64_t)m;
  TRY(bench_matrix_alloc(bench, &c->matrix[m], dtype, rows, cols));
  return bench_matrix_fill(bench, &c->matrix[m], noise, &seed);
}

static int make_all(struct bench *bench, struct attention_case *c) {
  const struct kernels *k = &bench->kernels;
  int64_t rows = c->graph.rows, heads = c->heads, each = c->width / heads;
  static const enum matrix wide[] = {X, Y, POSITIVE, DZ, DX};
  static const enum matrix of_heads[] = {TERM, ROW_TERM, LOG_SUM, SHARE, ROW_TERM_GRAD, TERM_GRAD};
  static const enum matrix parameters[] = {LEFT, RIGHT, LEFT_GRAD, RIGHT_GRAD};
  for (int i = 0; i < 5; i++) TRY(make(bench, c, wide[i], k->dtype, rows, c->width));
  for (int i = 0; i < 6; i++) TRY(make(bench, c, of_heads[i], k->real, rows, heads));
  for (int i = 0; i < 4; i++) TRY(make(bench, c, parameters[i], k->real, heads, each));
  return bench_matrix_alloc(bench, &c->matrix[MESSAGE], k->dtype, rows,
                            attention_message_cols(k, c->width, heads));
}

static int run_forward(struct kernels *k, const void *op) {
  return op_attention(k, op);
}

static int run_backward(struct kernels *k, const void *op) {
  return op_attention_backward(k, op);
}

static int run_rows(struct kernels *k, const void *op) {
  return op_attention_rows(k, op);
}

static int run_terms(struct kernels *k, const void *op) {
  return op_attention_terms(k, op);
}

static int run_terms_backward(struct kernels *k, const void *op) {
  return op_attention_terms_backward(k, op);
}

static double leaky(double x) {
  return x > 0 ? x : .2 * x;
}

/* Element (v, j) of the result, in double; e < 0: the node itself. */
static double forward_of(const struct attention_case *c, int64_t v, int64_t j) {
  const struct csr *m = &c->graph;
  int64_t h = j / (c->width / c->heads);
  double total = 0, sum = 0;
  for (int64_t e = m->start[v] - 1; e < m->start[v + 1]; e++) {
    int64_t u = e < m->start[v] ? v : m->col[e];
    double a = exp(leaky(value(c, TERM, u, h) + value(c, ROW_TERM, v, h)));
    total += a;
    sum += a * value(c, X, u, j);
  }
  return sum / total;
}

/* Row u of the graph lists the rows whose arcs come from u. */
static double backward_of(const struct attention_case *c, int64_t u, int64_t j) {
  const struct csr *m = &c->graph;
  int64_t each = c->width / c->heads, h = j / each;
  double sum = 0;
  for (int64_t e = m->start[u] - 1; e < m->start[u + 1]; e++) {
    int64_t v = e < m->start[u] ? u : m->col[e];
    double score = leaky(value(c, TERM, u, h) + value(c, ROW_TERM, v, h));
    sum += exp(score - value(c, LOG_SUM, v, h)) * value(c, DZ, v, j);
  }
  return sum + value(c, TERM_GRAD, u, h) * value(c, LEFT, h, j - h * each) +
         value(c, ROW_TERM_GRAD, u, h) * value(c, RIGHT, h, j - h * each);
}

/* Largest difference on sampled rows over the largest element. */
static double error_of(const struct attention_case *c, enum matrix m,
                       double (*expected)(const struct attention_case *c, int64_t v, int64_t j)) {
  int64_t rows = c->graph.rows, step = rows / (BENCH_SAMPLE / 4) + 1;
  double largest = 0, difference = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < rows; v += step) {
    for (int64_t j = 0; j < c->width; j += 3) {
      double right = expected(c, v, j);
      largest = fmax(largest, fabs(right));
      difference = fmax(difference, fabs(right - value(c, m, v, j)));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

static struct bench_row row_of(const struct bench *bench, const struct attention_case *c, const char *name) {
  struct bench_row row = {.name = name, .error = -1};
  const struct csr *m = &c->graph;
  if (!bench->device.ops->on_host) row.limit = COPY_LIMIT;
  snprintf(row.shape, sizeof row.shape, "%lldx%lld nnz %lld heads %lldx%lld", (long long)m->rows,
           (long long)m->cols, (long long)m->nnz, (long long)c->heads, (long long)(c->width / c->heads));
  return row;
}

/* bytes: of a row of the graph beside its arcs. */
static struct bench_row gather_row(const struct bench *bench, const struct attention_case *c,
                                   const char *name, int64_t reals, int64_t rows_written, int64_t flops) {
  struct bench_row row = row_of(bench, c, name);
  double element = (double)dtype_bytes(bench->kernels.dtype), real = (double)dtype_bytes(bench->kernels.real);
  double arcs = (double)(c->graph.nnz + c->graph.rows), width = (double)c->width, heads = (double)c->heads;
  row.bytes = arcs * (4 + width * element + (double)reals * heads * real) +
              (double)c->graph.rows * (double)rows_written * width * element;
  row.flops = (double)flops * arcs * width;
  if (row.limit > 0) row.limit = BENCH_L2_LIMIT;
  return row;
}

static int measure_forward(struct bench *bench, struct attention_case *c) {
  struct attention op = {.a = c->layout,
                         .heads = c->heads,
                         .x = of(c, X),
                         .term = of(c, TERM),
                         .self = of(c, X),
                         .self_term = of(c, TERM),
                         .row_term = of(c, ROW_TERM),
                         .log_sum = of(c, LOG_SUM),
                         .positive = of(c, POSITIVE),
                         .share = of(c, SHARE),
                         .y = of(c, Y)};
  struct bench_row row = gather_row(bench, c, "attention", 1, 2, 4);
  TRY(bench_time(bench, run_forward, &op, &row));
  TRY(bench_matrix_download(bench, &c->matrix[Y]));
  TRY(bench_matrix_download(bench, &c->matrix[LOG_SUM]));
  row.error = error_of(c, Y, forward_of);
  bench_print(bench, &row);
  return OK;
}

static int measure_backward(struct bench *bench, struct attention_case *c) {
  struct attention_backward op = {.a = c->layout,
                                  .heads = c->heads,
                                  .message = of(c, MESSAGE),
                                  .out = c->width,
                                  .self = of(c, MESSAGE),
                                  .x = of(c, X),
                                  .term = of(c, TERM),
                                  .l = of(c, LEFT),
                                  .r = of(c, RIGHT),
                                  .row_term_grad = of(c, ROW_TERM_GRAD),
                                  .dx = of(c, DX),
                                  .term_grad = of(c, TERM_GRAD)};
  struct bench_row row = gather_row(bench, c, "backward", 3, 2, 4);
  TRY(bench_time(bench, run_backward, &op, &row));
  TRY(bench_matrix_download(bench, &c->matrix[DX]));
  TRY(bench_matrix_download(bench, &c->matrix[TERM_GRAD]));
  TRY(bench_matrix_download(bench, &c->matrix[ROW_TERM_GRAD]));
  row.error = error_of(c, DX, backward_of);
  bench_print(bench, &row);
  return OK;
}

static int measure_passes(struct bench *bench, struct attention_case *c) {
  double matrix = (double)tensor_bytes(of(c, X)), reals = (double)tensor_bytes(of(c, TERM));
  struct attention_rows rows = {.heads = c->heads,
                                .dz = of(c, DZ),
                                .row_term = of(c, ROW_TERM),
                                .log_sum = of(c, LOG_SUM),
                                .share = of(c, SHARE),
                                .y = of(c, Y),
                                .positive = of(c, POSITIVE),
                                .message = of(c, MESSAGE),
                                .row_term_grad = of(c, ROW_TERM_GRAD)};
  struct attention_terms terms = {.x = of(c, X),
                                  .l = of(c, LEFT),
                                  .r = of(c, RIGHT),
                                  .left = of(c, SHARE), /* any of that shape */
                                  .right = of(c, TERM_GRAD)};
  struct attention_terms_backward back = {.x = of(c, X),
                                          .left_grad = of(c, TERM_GRAD),
                                          .right_grad = of(c, ROW_TERM_GRAD),
                                          .l_grad = of(c, LEFT_GRAD),
                                          .r_grad = of(c, RIGHT_GRAD)};
  struct bench_row row = row_of(bench, c, "messages");
  row.bytes = 3 * matrix + (double)tensor_bytes(of(c, MESSAGE)) + 4 * reals;
  TRY(bench_time(bench, run_rows, &rows, &row));
  bench_print(bench, &row);
  row.name = "terms";
  row.bytes = matrix + 2 * reals;
  TRY(bench_time(bench, run_terms, &terms, &row));
  bench_print(bench, &row);
  row.name = "sums";
  TRY(bench_time(bench, run_terms_backward, &back, &row));
  bench_print(bench, &row);
  return OK;
}

static int measure(struct bench *bench, struct attention_case *c) {
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = c->width};
  if (c->width % c->heads != 0)
    FAIL(BAD_INPUT, "--width %lld does not divide into --heads %lld", (long long)c->width,
         (long long)c->heads);
  TRY(layout_init(&bench->kernels, &c->graph, &plan, &c->layout));
  TRY(make_all(bench, c));
  TRY(measure_forward(bench, c));
  TRY(measure_passes(bench, c));
  TRY(measure_backward(bench, c));
  return bench_cosine(bench, &c->graph, c->layout, c->width);
}

int gnnbench_attention(struct bench *bench) {
  struct attention_case c = {.heads = bench->options->heads};
  int code = bench_graph(bench->options, &c.graph);
  if (code == OK && c.graph.rows != c.graph.cols) code = BAD_INPUT;
  for (int i = 0; i < bench->options->widths && code == OK; i++) {
    c.width = bench->options->width[i];
    code = measure(bench, &c);
    layout_free(&bench->kernels, c.layout);
    c.layout = NULL;
    for (int m = 0; m < MATRICES; m++) bench_matrix_free(bench, &c.matrix[m]);
  }
  csr_free(&c.graph);
  return code;
}
