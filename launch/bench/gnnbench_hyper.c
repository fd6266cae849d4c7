#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/format/layout.h"
#include "kernels/ops/incidence.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

enum { MOST_PAIRS = 64 << 20 }; /* that are tried */

/* A way to make the sums. */
struct form {
  const char *name;
  enum incidence_form form;
  int64_t panel;
};

static const struct form forms[] = {
    {"whole", INCIDENCE_STEPS, 0},        {"panels 128", INCIDENCE_STEPS, 128},
    {"panels 256", INCIDENCE_STEPS, 256}, {"panels 512", INCIDENCE_STEPS, 512},
    {"fused", INCIDENCE_FUSED, 0},        {"auto", INCIDENCE_AUTO, 0},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* What the rows of one width work on. */
struct hyper_case {
  struct csr edges, vertices;        /* with the values of a scaled sum, for the other library */
  struct csr edge_rows, vertex_rows; /* the same without */
  struct bench_matrix scale, size;   /* degree^-1/2 and 1 / size in reals; of a scaled sum */
  struct bench_matrix x, y, peer_x, peer_y, peer_sums;
  struct bench_peer there, back;
  double *sums; /* of hyperedges, in double: the reference */
  const char *peer;
  double peer_ms;
};

static int run(struct kernels *k, const void *op) {
  return op_incidence_sum(k, op);
}

static double inverse_root_of_row(const void *context, int64_t v, int64_t j) {
  const struct csr *m = context;
  int64_t degree = m->start[v + 1] - m->start[v];
  (void)j;
  return degree > 0 ? 1 / sqrt((double)degree) : 0;
}

static double inverse_of_row(const void *context, int64_t e, int64_t j) {
  double root = inverse_root_of_row(context, e, j);
  return root * root;
}

static int init_factor(struct bench *bench, struct bench_matrix *to, const struct csr *m,
                       double (*value)(const void *context, int64_t i, int64_t j)) {
  TRY(bench_matrix_alloc(bench, to, bench->kernels.real, m->rows, 1));
  to->tensor.stride = 1;
  return bench_matrix_fill(bench, to, value, m);
}

static double factor_of(const struct bench_matrix *m, int64_t i) {
  return m->host ? bench_value(m, i, 0) : 1;
}

/* edges carry c, vertices r t. */
static int write_values(struct hyper_case *c) {
  TRY(memory_alloc(&c->edges.weight, c->edges.nnz * (int64_t)sizeof(float), "values"));
  TRY(memory_alloc(&c->vertices.weight, c->edges.nnz * (int64_t)sizeof(float), "values"));
  for (int64_t i = 0; i < c->edges.nnz; i++)
    c->edges.weight[i] = (float)factor_of(&c->scale, c->edges.col[i]);
  for (int64_t v = 0; v < c->vertices.rows; v++) {
    for (int64_t i = c->vertices.start[v]; i < c->vertices.start[v + 1]; i++)
      c->vertices.weight[i] = (float)(factor_of(&c->scale, v) * factor_of(&c->size, c->vertices.col[i]));
  }
  return OK;
}

static int init(struct bench *bench, struct hyper_case *c) {
  TRY(bench_hypergraph(bench->options, &c->edges));
  TRY(csr_transpose(&c->edges, &c->vertices, NULL));
  c->edge_rows = c->edges;
  c->vertex_rows = c->vertices;
  if (bench->options->sparse.scaled) {
    TRY(init_factor(bench, &c->scale, &c->vertices, inverse_root_of_row));
    TRY(init_factor(bench, &c->size, &c->edges, inverse_of_row));
    TRY(write_values(c));
  }
  TRY(bench_peer_open(bench, &c->edges, &c->there));
  return bench_peer_open(bench, &c->vertices, &c->back);
}

/* The reference's first step. */
static int sum_hyperedges(struct hyper_case *c) {
  const struct csr *m = &c->edges;
  int64_t width = c->x.tensor.cols;
  TRY(memory_alloc(&c->sums, m->rows * width * (int64_t)sizeof *c->sums, "sums of hyperedges"));
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t e = 0; e < m->rows; e++) {
    for (int64_t i = m->start[e]; i < m->start[e + 1]; i++) {
      double factor = factor_of(&c->scale, m->col[i]) * factor_of(&c->size, e);
      for (int64_t j = 0; j < width; j++) c->sums[e * width + j] += factor * bench_value(&c->x, m->col[i], j);
    }
  }
  return OK;
}

/* Largest difference of sampled rows from their sums in double, over the largest of these. */
static double error_of(const struct hyper_case *c) {
  const struct csr *m = &c->vertices;
  int64_t width = c->x.tensor.cols, step = m->rows / BENCH_SAMPLE + 1;
  double largest = 0, difference = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : largest, difference)
  for (int64_t v = 0; v < m->rows; v += step) {
    for (int64_t j = 0; j < width; j++) {
      double sum = 0;
      for (int64_t i = m->start[v]; i < m->start[v + 1]; i++) sum += c->sums[m->col[i] * width + j];
      sum *= factor_of(&c->scale, v);
      largest = fmax(largest, fabs(sum));
      difference = fmax(difference, fabs(sum - bench_value(&c->y, v, j)));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

static double value_of_x(const void *context, int64_t i, int64_t j) {
  return bench_value(context, i, j);
}

/* Two products of the other library, each by its fastest algorithm. */
static int time_peer(struct bench *bench, struct hyper_case *c) {
  struct tensor x = c->x.tensor, y = c->y.tensor;
  struct bench_row there = {0}, back = {0};
  c->peer = NULL;
  if (!c->there.ops) return OK;
  TRY(bench_matrix_alloc(bench, &c->peer_sums, F32, c->edges.rows, x.cols));
  if (x.dtype != F32) {
    TRY(bench_matrix_alloc(bench, &c->peer_x, F32, x.rows, x.cols));
    TRY(bench_matrix_fill(bench, &c->peer_x, value_of_x, &c->x));
    TRY(bench_matrix_alloc(bench, &c->peer_y, F32, y.rows, y.cols));
    x = c->peer_x.tensor;
    y = c->peer_y.tensor;
  }
  TRY(bench_peer_time(bench, &c->there, x, c->peer_sums.tensor, &there));
  TRY(bench_peer_time(bench, &c->back, c->peer_sums.tensor, y, &back));
  c->peer = there.peer && back.peer ? there.peer : NULL;
  c->peer_ms = there.peer_median + back.peer_median;
  return OK;
}

static struct bench_row row_of(const struct bench *bench, const struct hyper_case *c, const char *name) {
  double element = (double)dtype_bytes(bench->kernels.dtype), nnz = (double)c->edges.nnz;
  double columns = (double)c->x.tensor.cols;
  struct bench_row row = {
      .name = name, .flops = 4 * nnz * columns, .peer = c->peer, .peer_median = c->peer_ms};
  row.bytes = 2 * nnz * (4 + columns * element) +
              (double)(c->edges.rows + c->vertices.rows) * columns * element;
  if (!bench->device.ops->on_host) row.limit = BENCH_L2_LIMIT;
  snprintf(row.shape, sizeof row.shape, "%lld+%lld nnz %lld width %lld%s", (long long)c->vertices.rows,
           (long long)c->edges.rows, (long long)c->edges.nnz, (long long)c->x.tensor.cols,
           c->scale.host ? " scaled" : "");
  return row;
}

static int measure_form(struct bench *bench, struct hyper_case *c, struct incidence *a,
                        const struct form *form) {
  struct bench_row row = row_of(bench, c, form->name);
  struct incidence_sum op = {.a = a, .x = c->x.tensor, .y = c->y.tensor};
  op.col_scale = op.row_scale = c->scale.tensor.data;
  op.edge_scale = c->size.tensor.data;
  row.scratch = incidence_workspace(&bench->kernels, &op);
  TRY(bench_time(bench, run, &op, &row));
  TRY(bench_matrix_download(bench, &c->y));
  row.error = error_of(c);
  bench_print(bench, &row);
  return OK;
}

static int64_t count_pairs(const struct hyper_case *c) {
  int64_t count = 0, longest = 0;
  pairs_count(&c->edge_rows, &c->vertex_rows, &count, &longest);
  return count;
}

/* Where the device has a choice: panels of less than a row, pairs if they are not too many. */
static int is_there(const struct bench *bench, const struct hyper_case *c, const struct form *form) {
  int64_t row = c->x.tensor.cols * dtype_bytes(bench->kernels.dtype);
  if (form->form == INCIDENCE_AUTO) return 1;
  if (!bench->kernels.ops->incidence->fuses) return 0;
  if (form->form == INCIDENCE_FUSED) return count_pairs(c) <= MOST_PAIRS;
  return form->panel < row || form->panel == forms[0].panel;
}

static int measure(struct bench *bench, struct hyper_case *c, int64_t width) {
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = width};
  TRY(bench_matrix_init(bench, &c->x, c->edges.cols, width, 1));
  TRY(bench_matrix_init(bench, &c->y, c->edges.cols, width, 2));
  TRY(sum_hyperedges(c));
  TRY(time_peer(bench, c));
  for (int f = 0; f < FORMS; f++) {
    struct incidence a = {0};
    if (!is_there(bench, c, &forms[f])) continue;
    int code = incidence_init(&bench->kernels, &c->edge_rows, &c->vertex_rows, &plan, forms[f].form, &a);
    a.panel = forms[f].panel;
    if (code == OK) code = measure_form(bench, c, &a, &forms[f]);
    incidence_free(&bench->kernels, &a);
    TRY(code);
  }
  return OK;
}

static void release_width(struct bench *bench, struct hyper_case *c) {
  struct bench_matrix *const all[] = {&c->x, &c->y, &c->peer_x, &c->peer_y, &c->peer_sums};
  for (int i = 0; i < 5; i++) bench_matrix_free(bench, all[i]);
  free(c->sums);
  c->sums = NULL;
}

int gnnbench_hyper(struct bench *bench) {
  struct hyper_case c = {0};
  int code = init(bench, &c);
  for (int i = 0; i < bench->options->widths && code == OK; i++) {
    code = measure(bench, &c, bench->options->width[i]);
    release_width(bench, &c);
  }
  bench_peer_close(bench, &c.there);
  bench_peer_close(bench, &c.back);
  bench_matrix_free(bench, &c.scale);
  bench_matrix_free(bench, &c.size);
  csr_free(&c.edges);
  csr_free(&c.vertices);
  return code;
}
