/* Rows of `gnnbench attention` for attention by cosines, forward and backward, as one rank has it on a
 * symmetric graph: arcs in and out are seen in one pass. Where tensor cores take some, beside the gather. */
#include "kernels/format/layout.h"
#include "kernels/ops/attention.h"
#include "launch/bench/bench.h"

static const double BETA = 1.5;

struct cosine_case {
  const struct csr *graph;
  struct layout *gather, *layout; /* of gathered arcs alone; as --layout has it */
  int64_t width;
  struct bench_matrix x, dz, y, log_sum, forward, backward, dx, dn, beta_grad, beta;
};

BENCH_RUN(cosine_attention)
BENCH_RUN(cosine_backward)

static double product(const struct cosine_case *c, const struct bench_matrix *a, int64_t v,
                      const struct bench_matrix *b, int64_t u) {
  double sum = 0;
  for (int64_t j = 0; j < c->width; j++) sum += bench_value(a, v, j) * bench_value(b, u, j);
  return sum;
}

static double cosine(const struct cosine_case *c, int64_t v, int64_t u) {
  return product(c, &c->x, v, &c->x, u) /
         sqrt(product(c, &c->x, v, &c->x, v) * product(c, &c->x, u, &c->x, u));
}

/* Row v of y in double; e before the row's entries: the node itself. */
static void forward_row(const void *context, int64_t v, double *y) {
  const struct cosine_case *c = context;
  const struct csr *m = c->graph;
  double total = 0;
  for (int64_t e = m->start[v] - 1; e < m->start[v + 1]; e++) {
    int64_t u = e < m->start[v] ? v : m->col[e];
    double weight = exp(BETA * cosine(c, v, u));
    total += weight;
    for (int64_t j = 0; j < c->width; j++) y[j] += weight * bench_value(&c->x, u, j);
  }
  for (int64_t j = 0; j < c->width; j++) y[j] /= total;
}

/* The gradient of the score of (v <- u), from what the forward left. */
static double score_gradient(const struct cosine_case *c, double cosine_of, int64_t v, int64_t u) {
  double a = exp(BETA * cosine_of - bench_value(&c->log_sum, v, 0));
  return a * (product(c, &c->dz, v, &c->x, u) - product(c, &c->dz, v, &c->y, v));
}

/* Row v of dn. */
static void backward_row(const void *context, int64_t v, double *dn) {
  const struct cosine_case *c = context;
  const struct csr *m = c->graph;
  for (int64_t e = m->start[v] - 1; e < m->start[v + 1]; e++) {
    int64_t u = e < m->start[v] ? v : m->col[e];
    double of_arc = cosine(c, v, u), length = sqrt(product(c, &c->x, u, &c->x, u));
    double factor = score_gradient(c, of_arc, v, u) + score_gradient(c, of_arc, u, v);
    for (int64_t j = 0; j < c->width; j++) dn[j] += BETA * factor * bench_value(&c->x, u, j) / length;
  }
}

/* gathered: matrices of which each arc brings a row, with so many numbers beside it; moved: of the nodes. */
static struct bench_row row_of(const struct bench *bench, const struct cosine_case *c, const char *name,
                               const struct layout *layout, int gathered, int numbers, int moved,
                               int products) {
  struct bench_row row = bench_graph_row(bench, name, c->graph, c->width, "");
  double element = (double)dtype_bytes(bench->kernels.dtype), real = (double)dtype_bytes(bench->kernels.real);
  double arcs = (double)(c->graph->nnz + c->graph->rows), width = (double)c->width;
  row.bytes = arcs * (4 + gathered * width * element + numbers * real) +
              (double)c->graph->rows * moved * width * element;
  row.flops = 2 * products * arcs * width;
  if (layout->tiles > 0) {
    row.share_name = "in_tiles";
    row.share = (double)layout->tile_entries / (double)c->graph->nnz;
  }
  if (layout->vectors > 0) {
    row.share_name = "in_vectors";
    row.share = (double)layout->window_entries / (double)c->graph->nnz;
  }
  return row;
}

static int measure_forward(struct bench *bench, struct cosine_case *c, const char *name,
                           const struct layout *layout) {
  struct cosine_rows rows = {.x = c->x.tensor, .message = c->forward.tensor};
  struct cosine_attention op = {.a = layout, .message = rows.message, .rows = rows.message, .self = 1};
  op.beta = c->beta.tensor.data;
  op.log_sum = c->log_sum.tensor;
  op.y = c->y.tensor;
  struct bench_row row = row_of(bench, c, name, layout, 1, 1, 2, 2);
  TRY(op_cosine_rows(&bench->kernels, &rows));
  return bench_measure(bench, &row, run_cosine_attention, &op,
                       &(struct bench_check){&c->y, forward_row, c, BENCH_SAMPLE / 4});
}

static int measure_backward(struct bench *bench, struct cosine_case *c, const char *name,
                            const struct layout *layout) {
  struct cosine_rows rows = {
      .x = c->x.tensor, .dz = c->dz.tensor, .y = c->y.tensor, .log_sum = c->log_sum.tensor};
  rows.message = c->backward.tensor;
  struct cosine_backward op = {.a = layout, .message = rows.message, .rows = rows.message};
  op.selves = c->graph->rows;
  op.arcs = COSINE_IN | COSINE_OUT;
  op.beta = c->beta.tensor.data;
  op.dx = c->dx.tensor;
  op.dn = c->dn.tensor;
  op.beta_grad = c->beta_grad.tensor;
  struct bench_row row = row_of(bench, c, name, layout, 2, 3, 4, 5);
  TRY(op_cosine_rows(&bench->kernels, &rows));
  TRY(bench_matrix_download(bench, &c->y, 1));
  TRY(bench_matrix_download(bench, &c->log_sum, 1));
  return bench_measure(bench, &row, run_cosine_backward, &op,
                       &(struct bench_check){&c->dn, backward_row, c, BENCH_SAMPLE / 4});
}

static double beta_of(const void *context, int64_t i, int64_t j) {
  (void)context, (void)i, (void)j;
  return BETA;
}

/* As a model would have it. */
static int layout_of_cosines(struct bench *bench, struct cosine_case *c) {
  const enum layout_tiers tiers = bench->options->sparse.tiers;
  const struct layout_plan plan = {.tiers = tiers,
                                   .width = c->width,
                                   .vector_threshold = bench->options->sparse.threshold,
                                   .scores = {1, 1}};
  c->layout = c->gather;
  if (tiers == LAYOUT_GATHER || !cosine_takes_tiles(&bench->kernels, c->width)) return OK;
  return bench_layout_of(bench, c->graph, &plan, &c->layout);
}

int bench_cosine(struct bench *bench, const struct csr *graph, struct layout *gather, int64_t width) {
  const struct kernels *k = &bench->kernels;
  struct cosine_case c = {.graph = graph, .gather = gather, .width = width};
  int64_t rows = graph->rows;
  TRY(layout_of_cosines(bench, &c));
  TRY(bench_matrix_noise(bench, &c.x, k->dtype, rows, width, 1));
  TRY(bench_matrix_noise(bench, &c.dz, k->dtype, rows, width, 2));
  TRY(bench_matrix_alloc(bench, &c.y, k->dtype, rows, width));
  TRY(bench_matrix_alloc(bench, &c.log_sum, k->real, rows, 1));
  TRY(bench_matrix_alloc(bench, &c.forward, k->dtype, rows, cosine_message_cols(k, width, 0)));
  TRY(bench_matrix_alloc(bench, &c.backward, k->dtype, rows, cosine_message_cols(k, width, 1)));
  TRY(bench_matrix_alloc(bench, &c.dx, k->dtype, rows, width));
  TRY(bench_matrix_alloc(bench, &c.dn, k->dtype, rows, width));
  TRY(bench_matrix_alloc(bench, &c.beta_grad, k->real, rows, 1));
  TRY(bench_column(bench, &c.beta, 1, beta_of, NULL));
  const int both = c.layout->tiles > 0 || c.layout->windows > 0;
  if (both) TRY(measure_forward(bench, &c, "gather cos", c.gather));
  TRY(measure_forward(bench, &c, "cosine", c.layout));
  if (both) TRY(measure_backward(bench, &c, "gather dx", c.gather));
  return measure_backward(bench, &c, "gradient", c.layout);
}
