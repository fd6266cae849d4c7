#include "models/core/propagation/graph_scales.h"

#include <math.h>

#include "kernels/ops/elementwise.h"
#include "runtime/base/base.h"

/* Whether every node has a self loop, stored or not; then it is among the arcs. */
int graph_scales_add_loops(const struct propagation *p) {
  return p->adjacency_norm == ADJACENCY_NORM_GCN || p->adjacency_norm == ADJACENCY_NORM_SELF_MEAN;
}

/* Rows of P: own ones, in a grid those of its row. */
int64_t graph_scales_rows(const struct propagation *p, const struct run *run) {
  return p->forward.adjacency ? adjacency_rows(p->forward.adjacency) : run->shard->own;
}

/* What rows and columns are scaled by. */
static enum norm_edges norm_of(const struct propagation *p, const struct run *run) {
  if (p->adjacency_norm == ADJACENCY_NORM_GCN) return run->config->model.norm_edges;
  return p->adjacency_norm == ADJACENCY_NORM_SUM ? EDGES_NONE : EDGES_ROW;
}

void graph_scales_plan(struct propagation *p, struct run *run, struct arena *arena) {
  int64_t bytes = graph_scales_rows(p, run) * dtype_bytes(run->kernels->real);
  enum norm_edges norm = norm_of(p, run);
  if (!graph_scales_add_loops(p) && (p->loop != 0 || run->shard->in.self)) p->self = arena_take(arena, bytes);
  if (p->loop_changes) p->base = arena_take(arena, bytes);
  if (norm != EDGES_NONE || p->factor != 1)
    p->forward.row_scale = p->backward.col_scale = arena_take(arena, bytes);
  if (norm == EDGES_BOTH) p->forward.col_scale = p->backward.row_scale = arena_take(arena, bytes);
}

/* The setting that asks for weights >= 0, for messages. */
static const char *setting_of(const struct propagation *p, enum norm_edges norm) {
  if (p->adjacency_norm == ADJACENCY_NORM_GCN)
    return norm == EDGES_BOTH ? "model.norm_edges = \"both\"" : "model.norm_edges = \"row\"";
  return p->adjacency_norm == ADJACENCY_NORM_MEAN ? "model.aggregator = \"mean\""
                                                  : "model.aggregator = \"gcn\"";
}

/* Adds up the rows of a part. */
static void sum_part(const struct csr *part, double *degree) {
  for (int64_t i = 0; i < part->rows; i++) {
    double sum = 0;
    for (int64_t e = part->start[i]; e < part->start[i + 1]; e++)
      sum += part->weight ? (double)part->weight[e] : 1;
    degree[part->row ? part->row[i] : i] += sum;
  }
}

/* Row sums of A in doubles, without self loops that are apart. */
static void sum_rows(const struct run *run, double *degree) {
  const struct adjacency *in = &run->shard->in;
  memset(degree, 0, (size_t)adjacency_rows(in) * sizeof *degree);
  sum_part(&in->own_part, degree);
  for (int s = 0; s < in->halo.stages; s++) sum_part(&in->halo_part[s], degree);
  sum_part(&in->late_part, degree);
}

/* D~ of row v, whose loop in s is self. The shard's sums are floats, which tables of doubles do not take. */
static double degree_of(const struct run *run, int64_t v, const double *sum, double self, double stored) {
  const struct adjacency *in = &run->shard->in;
  if (run->kernels->real != F64) return (double)in->degree[v] + self - stored;
  return sum[v] + (in->loops == LOOPS_APART ? self : 0);
}

/* s, r and c of row v of P; r[v] is what sum_rows left. Where the degree is 0, or more than floats hold, r is
 * 1, since gradients are divided by it (struct column_sums), and c is 0, so that other rows get nothing from
 * this one. Returns whether a degree that divides has a loop below 0. */
static int row_scales(const struct propagation *p, const struct run *run, int64_t v, double *self, double *r,
                      double *c) {
  const struct adjacency *in = &run->shard->in;
  const enum norm_edges norm = norm_of(p, run);
  const int has_loop = in->self && !isnan(in->self[v]);
  const double stored = has_loop ? (double)in->self[v] : 0;
  self[v] = p->loop + (!has_loop && graph_scales_add_loops(p) ? 1 : stored);
  const double degree = degree_of(run, v, r, self[v], stored);
  const int divides = degree > 0 && isfinite(degree);
  const double inverse = divides ? 1 / degree : 1;
  r[v] = norm == EDGES_BOTH ? sqrt(inverse) : norm == EDGES_ROW ? inverse : 1;
  c[v] = norm != EDGES_BOTH ? 1 : divides ? r[v] : 0;
  r[v] *= p->factor;
  return norm != EDGES_NONE && stored < 0;
}

static int node_scales(const struct propagation *p, const struct run *run, double *self, double *r,
                       double *c) {
  const struct adjacency *in = &run->shard->in;
  const int64_t rows = adjacency_rows(in);
  int64_t wrong = rows; /* the first such row */
  if (run->kernels->real == F64) sum_rows(run, r);
#pragma omp parallel for schedule(static) reduction(min : wrong)
  for (int64_t v = 0; v < rows; v++)
    if (row_scales(p, run, v, self, r, c)) wrong = smaller(wrong, v);
  if (wrong == rows) return OK;
  FAIL(BAD_INPUT, "%s: the self loop of node %lld has weight %g; %s needs weights >= 0",
       run->config->dataset.path, (long long)run->directory->id[wrong], (double)in->self[wrong],
       setting_of(p, norm_of(p, run)));
}

static int check_weights(const struct propagation *p, const struct run *run, const struct csr *part) {
  enum norm_edges norm = norm_of(p, run);
  if (!part->weight || norm == EDGES_NONE) return OK;
  for (int64_t e = 0; e < part->nnz; e++) {
    if (!(part->weight[e] >= 0))
      FAIL(BAD_INPUT, "%s: an edge has weight %g; %s needs weights >= 0", run->config->dataset.path,
           (double)part->weight[e], setting_of(p, norm));
  }
  return OK;
}

static int upload_scales(struct propagation *p, struct run *run) {
  int64_t rows = graph_scales_rows(p, run);
  FREED double *self = NULL, *r = NULL, *c = NULL;
  TRY(memory_arrays("degree scales", ROOM(&self, rows), ROOM(&r, rows), ROOM(&c, rows)));
  TRY(node_scales(p, run, self, r, c));
  TRY(run_upload_reals(run, p->self, rows, self));
  TRY(run_upload_reals(run, p->base, rows, self));
  TRY(run_upload_reals(run, p->forward.row_scale, rows, r));
  return run_upload_reals(run, p->backward.row_scale, rows, c);
}

/* Scales first: a self loop of bad weight is named as such, though it may be among the arcs too. */
int graph_scales_start(struct propagation *p, struct run *run) {
  const struct adjacency *in = &run->shard->in;
  TRY(upload_scales(p, run));
  TRY(check_weights(p, run, &in->own_part));
  for (int s = 0; s < in->halo.stages; s++) TRY(check_weights(p, run, &in->halo_part[s]));
  return check_weights(p, run, &in->late_part);
}

/* As the epilogue of a layer that is one column wide: the bias is what is added. */
int propagation_set_loop(struct propagation *p, struct run *run, const void *more) {
  struct tensor base = tensor_of(p->base, run->kernels->real, graph_scales_rows(p, run), 1), self = base;
  self.data = p->self;
  return op_epilogue(run->kernels, &(struct epilogue){.z = base, .bias = more, .y = self});
}
