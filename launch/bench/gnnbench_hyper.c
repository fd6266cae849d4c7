#include "kernels/ops/incidence.h"
#include "launch/bench/bench.h"
#include "runtime/profile/profile.h"

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
    {"fused", INCIDENCE_FUSED, 0},        {"split", INCIDENCE_SPLIT, 0},
    {"auto", INCIDENCE_AUTO, 0},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* What the rows of one width work on. */
struct hyper_case {
  struct csr *edges, *vertices;      /* with the values of a scaled sum, for the other library */
  struct csr edge_rows, vertex_rows; /* the same without */
  struct bench_matrix scale, size;   /* degree^-1/2 and 1 / size in reals; of a scaled sum */
  struct bench_matrix x, y;
  struct bench_peer there, back;
  double *sums; /* of hyperedges, in double: the reference */
  const char *peer;
  double peer_ms;
};

BENCH_RUN(incidence_sum)

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

static double factor_of(const struct bench_matrix *m, int64_t i) {
  return m->host ? bench_value(m, i, 0) : 1;
}

/* edges carry c, vertices r t. */
static int write_values(struct hyper_case *c) {
  struct csr *edges = c->edges, *vertices = c->vertices;
  TRY(memory_arrays("values", ROOM(&edges->weight, edges->nnz), ROOM(&vertices->weight, edges->nnz)));
  for (int64_t i = 0; i < edges->nnz; i++) edges->weight[i] = (float)factor_of(&c->scale, edges->col[i]);
  for (int64_t v = 0; v < vertices->rows; v++) {
    for (int64_t i = vertices->start[v]; i < vertices->start[v + 1]; i++)
      vertices->weight[i] = (float)(factor_of(&c->scale, v) * factor_of(&c->size, vertices->col[i]));
  }
  return OK;
}

static int init(struct bench *bench, struct hyper_case *c) {
  TRY(bench_hypergraph(bench, &c->edges));
  TRY(bench_new_csr(bench, &c->vertices));
  TRY(csr_transpose(c->edges, c->vertices, NULL));
  c->edge_rows = *c->edges;
  c->vertex_rows = *c->vertices;
  if (bench->options->sparse.scaled) {
    TRY(bench_column(bench, &c->scale, c->vertices->rows, inverse_root_of_row, c->vertices));
    TRY(bench_column(bench, &c->size, c->edges->rows, inverse_of_row, c->edges));
    TRY(write_values(c));
  }
  TRY(bench_peer_open(bench, c->edges, &c->there));
  return bench_peer_open(bench, c->vertices, &c->back);
}

/* The reference's first step. */
static int sum_hyperedges(struct bench *bench, struct hyper_case *c) {
  const struct csr *m = c->edges;
  int64_t width = c->x.tensor.cols;
  TRY(bench_array(bench, &c->sums, m->rows * width));
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t e = 0; e < m->rows; e++) {
    for (int64_t i = m->start[e]; i < m->start[e + 1]; i++) {
      double factor = factor_of(&c->scale, m->col[i]) * factor_of(&c->size, e);
      for (int64_t j = 0; j < width; j++) c->sums[e * width + j] += factor * bench_value(&c->x, m->col[i], j);
    }
  }
  return OK;
}

static void sum_row(const void *context, int64_t v, double *row) {
  const struct hyper_case *c = context;
  const struct csr *m = c->vertices;
  int64_t width = c->x.tensor.cols;
  for (int64_t i = m->start[v]; i < m->start[v + 1]; i++)
    for (int64_t j = 0; j < width; j++) row[j] += factor_of(&c->scale, v) * c->sums[m->col[i] * width + j];
}

/* Two products of the other library, each by its fastest algorithm. */
static int time_peer(struct bench *bench, struct hyper_case *c) {
  struct bench_matrix sums;
  struct bench_row there = {0}, back = {0};
  if (!c->there.ops) return OK;
  TRY(bench_matrix_alloc(bench, &sums, F32, c->edges->rows, c->x.tensor.cols));
  TRY(bench_peer_time(bench, &c->there, &c->x, &sums, &there));
  TRY(bench_peer_time(bench, &c->back, &sums, &c->y, &back));
  c->peer = there.peer && back.peer ? there.peer : NULL;
  c->peer_ms = there.peer_median + back.peer_median;
  return OK;
}

static struct bench_row row_of(const struct bench *bench, const struct hyper_case *c, const char *name) {
  double element = (double)dtype_bytes(bench->kernels.dtype), nnz = (double)c->edges->nnz;
  double columns = (double)c->x.tensor.cols;
  struct bench_row row = bench_row_of(bench, name, BENCH_L2_LIMIT, "%lld+%lld nnz %lld width %lld%s",
                                      (long long)c->vertices->rows, (long long)c->edges->rows,
                                      (long long)c->edges->nnz, (long long)c->x.tensor.cols,
                                      c->scale.host ? " scaled" : "");
  row.flops = 4 * nnz * columns;
  row.bytes = 2 * nnz * (4 + columns * element) +
              (double)(c->edges->rows + c->vertices->rows) * columns * element;
  row.peer = c->peer;
  row.peer_median = c->peer_ms;
  return row;
}

static int64_t row_bytes(const struct bench *bench, const struct hyper_case *c) {
  return c->x.tensor.cols * dtype_bytes(bench->kernels.dtype);
}

static int measure_form(struct bench *bench, struct hyper_case *c, struct incidence *a,
                        const struct form *form) {
  struct bench_row row = row_of(bench, c, form->name);
  struct incidence_sum op = {.a = a, .x = c->x.tensor, .y = c->y.tensor};
  a->panel = form->panel;
  op.col_scale = op.row_scale = c->scale.tensor.data;
  op.edge_scale = c->size.tensor.data;
  row.scratch = incidence_workspace(&bench->kernels, &op);
  if (row.limit > 0 && form->form != INCIDENCE_AUTO && form->panel == 0)
    row.predicted = incidence_time(a, form->form, row_bytes(bench, c)) / 1e3;
  return bench_measure(bench, &row, run_incidence_sum, &op,
                       &(struct bench_check){&c->y, sum_row, c, BENCH_SAMPLE});
}

static int64_t count_pairs(const struct hyper_case *c) {
  int64_t count = 0, longest = 0;
  pairs_count(&c->edge_rows, &c->vertex_rows, &count, &longest);
  return count;
}

/* Where the device has a choice: panels of less than a row, pairs if they are not too many. */
static int is_there(const struct bench *bench, const struct hyper_case *c, const struct form *form) {
  if (form->form == INCIDENCE_AUTO) return 1;
  if (form->form == INCIDENCE_SPLIT) return bench->kernels.ops->incidence->splits;
  if (!bench->kernels.ops->incidence->fuses) return 0;
  if (form->form == INCIDENCE_FUSED) return count_pairs(c) <= MOST_PAIRS;
  return form->panel < row_bytes(bench, c) || form->panel == forms[0].panel;
}

static int measure(struct bench *bench, void *of, int64_t width) {
  struct hyper_case *c = of;
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = width};
  TRY(bench_matrix_noise(bench, &c->x, bench->kernels.dtype, c->edges->cols, width, 1));
  TRY(bench_matrix_alloc(bench, &c->y, bench->kernels.dtype, c->edges->cols, width));
  TRY(sum_hyperedges(bench, c));
  TRY(time_peer(bench, c));
  for (int f = 0; f < FORMS; f++) {
    struct incidence a = {0};
    if (!is_there(bench, c, &forms[f])) continue;
    int code = incidence_init(&bench->kernels, &c->edge_rows, &c->vertex_rows, &plan, forms[f].form, &a);
    if (code == OK) code = measure_form(bench, c, &a, &forms[f]);
    incidence_free(&bench->kernels, &a);
    TRY(code);
  }
  return OK;
}

/* What the host takes to cut the hypergraph for "split", and how much of what that reads is not read again.
 */
static int measure_cut(struct bench *bench, const struct hyper_case *c) {
  const int reps = (int)bench->options->reps;
  double ms[BENCH_REPS] = {0};
  struct split_counts n = {0};
  int32_t limit = 0;
  for (int i = 0; i < reps; i++) {
    ENDED_BY(edge_split_free) struct edge_split cut = {0};
    double start = profile_clock();
    TRY(edge_split_init(&c->edge_rows, &c->vertex_rows, bench->device.threads, &cut));
    ms[i] = (profile_clock() - start) * 1e3;
    n = cut.count;
    limit = cut.limit;
  }
  struct bench_row row = bench_row_of(bench, "cut", 0, "%lld+%lld nnz %lld by %d, %lld blocks",
                                      (long long)c->vertices->rows, (long long)c->edges->rows,
                                      (long long)c->edges->nnz, (int)limit, (long long)n.blocks);
  bench_spread(ms, reps, &row);
  row.share_name = "first_reads";
  row.share = n.entries > 0 ? (double)c->edges->nnz / (double)n.entries : 1;
  bench_print(bench, &row);
  return OK;
}

int gnnbench_hyper(struct bench *bench) {
  struct hyper_case c = {0};
  TRY(init(bench, &c));
  if (bench->kernels.ops->incidence->splits) TRY(measure_cut(bench, &c));
  return bench_each_width(bench, measure, &c);
}
