#include "kernels/format/layout.h"
#include "kernels/ops/attention.h"
#include "launch/bench/bench.h"

/* What the rows of the report for one width work on. */
struct attention_case {
  struct csr *graph;
  struct {
    struct layout *of_terms, *gather; /* of attention by terms; of the rest */
  } layout;
  int64_t width, heads;
  struct bench_matrix x, y, positive, dz, dx, message;                          /* [nodes, width] */
  struct bench_matrix term, row_term, log_sum, share, row_term_grad, term_grad; /* [nodes, heads] */
  struct bench_matrix left, right, left_grad, right_grad;                       /* [heads, width / heads] */
};

BENCH_RUN(attention)
BENCH_RUN(attention_backward)
BENCH_RUN(attention_rows)
BENCH_RUN(attention_terms)
BENCH_RUN(attention_terms_backward)

static int make_all(struct bench *bench, struct attention_case *c) {
  const struct kernels *k = &bench->kernels;
  int64_t rows = c->graph->rows, heads = c->heads;
  struct bench_matrix *const wide[] = {&c->x, &c->y, &c->positive, &c->dz, &c->dx};
  struct bench_matrix *const of_heads[] = {&c->term,  &c->row_term,      &c->log_sum,
                                           &c->share, &c->row_term_grad, &c->term_grad};
  struct bench_matrix *const parameters[] = {&c->left, &c->right, &c->left_grad, &c->right_grad};
  uint64_t seed = 0;
  for (int i = 0; i < 5; i++) TRY(bench_matrix_noise(bench, wide[i], k->dtype, rows, c->width, seed++));
  for (int i = 0; i < 6; i++) TRY(bench_matrix_noise(bench, of_heads[i], k->real, rows, heads, seed++));
  for (int i = 0; i < 4; i++)
    TRY(bench_matrix_noise(bench, parameters[i], k->real, heads, c->width / heads, seed++));
  return bench_matrix_alloc(bench, &c->message, k->dtype, rows, attention_message_cols(k, c->width, heads));
}

static double score(const struct attention_case *c, int64_t u, int64_t v, int64_t h) {
  double sum = bench_value(&c->term, u, h) + bench_value(&c->row_term, v, h);
  return sum > 0 ? sum : .2 * sum;
}

/* Row v of the result, in double; the entry before its arcs is the node itself. */
static void forward_row(const void *context, int64_t v, double *row) {
  const struct attention_case *c = context;
  const struct csr *m = c->graph;
  int64_t each = c->width / c->heads;
  for (int64_t h = 0; h < c->heads; h++) {
    double total = 0;
    for (int64_t e = m->start[v] - 1; e < m->start[v + 1]; e++) {
      int64_t u = e < m->start[v] ? v : m->col[e];
      double a = exp(score(c, u, v, h));
      total += a;
      for (int64_t j = h * each; j < (h + 1) * each; j++) row[j] += a * bench_value(&c->x, u, j);
    }
    for (int64_t j = h * each; j < (h + 1) * each; j++) row[j] /= total;
  }
}

/* Row u of the graph lists the rows whose arcs come from u. */
static void backward_row(const void *context, int64_t u, double *row) {
  const struct attention_case *c = context;
  const struct csr *m = c->graph;
  int64_t each = c->width / c->heads;
  for (int64_t j = 0; j < c->width; j++)
    row[j] = bench_value(&c->term_grad, u, j / each) * bench_value(&c->left, j / each, j % each) +
             bench_value(&c->row_term_grad, u, j / each) * bench_value(&c->right, j / each, j % each);
  for (int64_t e = m->start[u] - 1; e < m->start[u + 1]; e++) {
    int64_t v = e < m->start[u] ? u : m->col[e];
    for (int64_t h = 0; h < c->heads; h++) {
      double a = exp(score(c, u, v, h) - bench_value(&c->log_sum, v, h));
      for (int64_t j = h * each; j < (h + 1) * each; j++) row[j] += a * bench_value(&c->dz, v, j);
    }
  }
}

static struct bench_row row_of(const struct bench *bench, const struct attention_case *c, const char *name) {
  const struct csr *m = c->graph;
  return bench_row_of(bench, name, BENCH_COPY_LIMIT, "%lldx%lld nnz %lld heads %lldx%lld", (long long)m->rows,
                      (long long)m->cols, (long long)m->nnz, (long long)c->heads,
                      (long long)(c->width / c->heads));
}

/* An arc brings a row and so many reals a head, a row of the graph writes two. */
static struct bench_row gather_row(const struct bench *bench, const struct attention_case *c,
                                   const char *name, int reals) {
  struct bench_row row = row_of(bench, c, name);
  double element = (double)dtype_bytes(bench->kernels.dtype), real = (double)dtype_bytes(bench->kernels.real);
  double arcs = (double)(c->graph->nnz + c->graph->rows), width = (double)c->width;
  row.bytes = arcs * (4 + width * element + reals * (double)c->heads * real) +
              (double)c->graph->rows * 2 * width * element;
  row.flops = 4 * arcs * width;
  if (row.limit > 0) row.limit = BENCH_L2_LIMIT;
  return row;
}

static void say_tiles(const struct layout *layout, struct bench_row *row) {
  if (layout->tiles == 0) return;
  row->share_name = "in_tiles";
  row->share = (double)layout->tile_entries / (double)layout->csr->nnz;
}

static int measure_forward(struct bench *bench, struct attention_case *c, const char *name,
                           const struct layout *layout) {
  struct attention op = {.a = layout, .heads = c->heads, .x = c->x.tensor, .term = c->term.tensor};
  op.self.x = op.x;
  op.self.term = op.term;
  op.row_term = c->row_term.tensor;
  op.log_sum = c->log_sum.tensor;
  op.positive = c->positive.tensor;
  op.share = c->share.tensor;
  op.y = c->y.tensor;
  struct bench_row row = gather_row(bench, c, name, 1);
  say_tiles(layout, &row);
  return bench_measure(bench, &row, run_attention, &op,
                       &(struct bench_check){&c->y, forward_row, c, BENCH_SAMPLE / 4});
}

static int measure_passes(struct bench *bench, struct attention_case *c) {
  double matrix = (double)tensor_bytes(c->x.tensor), reals = (double)tensor_bytes(c->term.tensor);
  struct attention_rows rows = {.heads = c->heads, .dz = c->dz.tensor, .row_term = c->row_term.tensor};
  rows.log_sum = c->log_sum.tensor;
  rows.share = c->share.tensor;
  rows.y = c->y.tensor;
  rows.positive = c->positive.tensor;
  rows.message = c->message.tensor;
  rows.row_term_grad = c->row_term_grad.tensor;
  struct attention_terms terms = {.x = c->x.tensor, .l = c->left.tensor, .r = c->right.tensor};
  terms.left = c->share.tensor; /* any of that shape */
  terms.right = c->term_grad.tensor;
  struct attention_terms_backward back = {.x = c->x.tensor, .left_grad = c->term_grad.tensor};
  back.right_grad = c->row_term_grad.tensor;
  back.l_grad = c->left_grad.tensor;
  back.r_grad = c->right_grad.tensor;
  struct bench_row row = row_of(bench, c, "messages");
  row.bytes = 3 * matrix + (double)tensor_bytes(c->message.tensor) + 4 * reals;
  TRY(bench_measure(bench, &row, run_attention_rows, &rows, NULL));
  row.name = "terms";
  row.bytes = matrix + 2 * reals;
  TRY(bench_measure(bench, &row, run_attention_terms, &terms, NULL));
  row.name = "sums";
  return bench_measure(bench, &row, run_attention_terms_backward, &back, NULL);
}

static int measure_backward(struct bench *bench, struct attention_case *c, const char *name,
                            const struct layout *layout) {
  struct bench_matrix *const read[] = {&c->log_sum, &c->term_grad, &c->row_term_grad};
  struct attention_backward op = {.a = layout, .heads = c->heads, .message = c->message.tensor};
  op.out = c->width;
  op.self = op.message;
  op.x = c->x.tensor;
  op.term = c->term.tensor;
  op.l = c->left.tensor;
  op.r = c->right.tensor;
  op.row_term_grad = c->row_term_grad.tensor;
  op.dx = c->dx.tensor;
  op.term_grad = c->term_grad.tensor;
  struct bench_row row = gather_row(bench, c, name, 3);
  say_tiles(layout, &row);
  TRY(bench_time(bench, run_attention_backward, &op, &row));
  for (int i = 0; i < 3; i++) TRY(bench_matrix_download(bench, read[i], 1));
  TRY(bench_compare(bench, &(struct bench_check){&c->dx, backward_row, c, BENCH_SAMPLE / 4}, &row.error));
  bench_print(bench, &row);
  return OK;
}

/* As a model would have it. */
static int layout_of_heads(struct bench *bench, struct attention_case *c) {
  const enum layout_tiers tiers = bench->options->sparse.tiers;
  const struct layout_plan plan = {.tiers = tiers, .width = c->width, .scores = {c->heads, 0}};
  c->layout.of_terms = c->layout.gather;
  if (tiers == LAYOUT_GATHER || !attention_takes_tiles(&bench->kernels, c->width, c->heads)) return OK;
  return bench_layout_of(bench, c->graph, &plan, &c->layout.of_terms);
}

static int measure(struct bench *bench, void *of, int64_t width) {
  struct attention_case *c = of;
  c->width = width;
  if (width % c->heads != 0)
    FAIL(BAD_INPUT, "--width %lld does not divide into --heads %lld", (long long)width, (long long)c->heads);
  TRY(bench_layout(bench, c->graph, LAYOUT_GATHER, width, &c->layout.gather));
  TRY(layout_of_heads(bench, c));
  TRY(make_all(bench, c));
  const int both = c->layout.of_terms->tiles > 0;
  if (both) TRY(measure_forward(bench, c, "gather fwd", c->layout.gather));
  TRY(measure_forward(bench, c, "attention", c->layout.of_terms));
  TRY(measure_passes(bench, c));
  if (both) TRY(measure_backward(bench, c, "gather bwd", c->layout.gather));
  TRY(measure_backward(bench, c, "backward", c->layout.of_terms));
  return bench_cosine(bench, c->graph, c->layout.gather, width);
}

int gnnbench_attention(struct bench *bench) {
  struct attention_case c = {.heads = bench->options->heads};
  TRY(bench_graph(bench, &c.graph));
  if (c.graph->rows != c.graph->cols) FAIL(BAD_INPUT, "gnnbench attention: a square matrix is needed");
  return bench_each_width(bench, measure, &c);
}
