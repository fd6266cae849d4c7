#include "models/core/graph_sums.h"

#include <assert.h>
#include <math.h>

#include "kernels/format/layout.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/elementwise.h"
#include "partition/halo/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int layouts_init(struct direction *d, struct run *run, const struct layout_plan *plan,
                        struct adjacency *adjacency) {
  d->adjacency = adjacency;
  TRY(layout_init(run->kernels, &adjacency->own_part, plan, &d->own_part));
  return layout_init(run->kernels, &adjacency->halo_part, plan, &d->halo_part);
}

/* Whether every node has a self loop, stored or not; then it is among the arcs. */
static int adds_loops(const struct propagation *p) {
  return p->adjacency_norm == ADJACENCY_NORM_GCN || p->adjacency_norm == ADJACENCY_NORM_SELF_MEAN;
}

/* Number i of the directions, NULL behind the last one: P, P^T, and those of the levels. */
static struct direction *direction_at(const struct propagation *p, int i) {
  struct direction_level *level = p->level && i / 2 <= p->levels ? p->level + i / 2 - 1 : NULL;
  if (i < 2) return (struct direction *)(i == 0 ? &p->forward : &p->backward);
  if (!level) return NULL;
  return i % 2 == 0 ? &level->forward : &level->backward;
}

static int all_layouts_init(struct propagation *p, struct run *run, const struct layout_plan *plan) {
  TRY(layouts_init(&p->forward, run, plan, &run->shard->in));
  if (run->shard->directed) TRY(layouts_init(&p->backward, run, plan, &run->shard->out));
  TRY(memory_arrays("layouts of levels", ROOM(&p->level, p->levels)));
  for (int i = 0; i < p->levels; i++) {
    TRY(layouts_init(&p->level[i].forward, run, plan, &run->shard->levels.of[i].forward));
    TRY(layouts_init(&p->level[i].backward, run, plan, &run->shard->levels.of[i].backward));
  }
  return OK;
}

/* Attention has tiles and the gather, by cosines column vectors too; reductions have the gather alone. */
static enum layout_tiers tiers_of(const struct propagation *p, enum layout_tiers setting) {
  if (!p->reduces && !p->attends.on) return setting;
  if (p->attends.scores.heads > 0 && (setting == LAYOUT_TILES || setting == LAYOUT_AUTO)) return setting;
  if (p->attends.scores.cosines && setting == LAYOUT_VECTORS) return setting;
  return LAYOUT_GATHER;
}

int graph_sums_init(struct propagation *p, struct run *run, int64_t width) {
  assert(adds_loops(p) == (run->shard->in.loops == LOOPS_WITHIN));
  const struct layout_plan plan = {.tiers = tiers_of(p, run->config->runtime.layout),
                                   .width = width,
                                   .vector_threshold = run->config->runtime.vector_threshold,
                                   .scores = p->attends.scores};
  TRY(PROFILE_HOST("layout", all_layouts_init(p, run, &plan)));
  if (run->shard->directed) return OK;
  p->backward = p->forward;
  p->backward.borrowed = 1;
  return OK;
}

static int direction_plan(struct direction *d, struct arena *arena, int wants_ids) {
  if (d->borrowed) return OK;
  d->has_halo = arena_take(arena, d->adjacency->own_part.rows);
  if (wants_ids) d->halo_id = arena_take(arena, d->adjacency->halo.rows * (int64_t)sizeof *d->halo_id);
  return halo_prepare(&d->adjacency->halo, arena);
}

/* Rows of P: own ones, in a grid those of its row. */
static int64_t rows_of(const struct propagation *p, const struct run *run) {
  return p->forward.adjacency ? p->forward.adjacency->own_part.rows : run->shard->own;
}

/* What rows and columns are scaled by. */
static enum norm_edges norm_of(const struct propagation *p, const struct run *run) {
  if (p->adjacency_norm == ADJACENCY_NORM_GCN) return run->config->model.norm_edges;
  return p->adjacency_norm == ADJACENCY_NORM_SUM ? EDGES_NONE : EDGES_ROW;
}

static void plan_scales(struct propagation *p, struct run *run, struct arena *arena) {
  int64_t bytes = rows_of(p, run) * dtype_bytes(run->kernels->real);
  enum norm_edges norm = norm_of(p, run);
  if (!adds_loops(p) && (p->loop != 0 || run->shard->in.self)) p->self = arena_take(arena, bytes);
  if (p->loop_changes) p->base = arena_take(arena, bytes);
  if (norm != EDGES_NONE || p->factor != 1)
    p->forward.row_scale = p->backward.col_scale = arena_take(arena, bytes);
  if (norm == EDGES_BOTH) p->forward.col_scale = p->backward.row_scale = arena_take(arena, bytes);
}

/* The first rows and columns have the same scales. */
static void scale_as(const struct direction *all, struct direction *first) {
  first->row_scale = all->row_scale;
  first->col_scale = all->col_scale;
}

int graph_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  enum dtype dtype = run->kernels->dtype;
  const struct halo *in = &p->forward.adjacency->halo, *out = &p->backward.adjacency->halo;
  plan_scales(p, run, arena);
  for (int i = 0; direction_at(p, i); i++) TRY(direction_plan(direction_at(p, i), arena, p->wants_ids));
  for (int i = 2; direction_at(p, i); i++) scale_as(direction_at(p, i % 2), direction_at(p, i));
  if (p->backward.borrowed) {
    p->backward.has_halo = p->forward.has_halo;
    p->backward.halo_id = p->forward.halo_id;
  }
  p->packed = arena_tensor(arena, dtype, larger(halo_send_rows(in), halo_send_rows(out)), width);
  p->tail = arena_tensor(arena, dtype, larger(in->rows, out->rows), width);
  if (run->comm->size > 1 && dtype != run->kernels->real && !p->attends.on)
    p->sums = arena_tensor(arena, run->kernels->real, rows_of(p, run), width);
  return OK;
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
  memset(degree, 0, (size_t)in->own_part.rows * sizeof *degree);
  sum_part(&in->own_part, degree);
  sum_part(&in->halo_part, degree);
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
  self[v] = p->loop + (!has_loop && adds_loops(p) ? 1 : stored);
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
  const int64_t rows = in->own_part.rows;
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
  int64_t rows = rows_of(p, run);
  FREED double *self = NULL, *r = NULL, *c = NULL;
  TRY(memory_arrays("degree scales", ROOM(&self, rows), ROOM(&r, rows), ROOM(&c, rows)));
  TRY(node_scales(p, run, self, r, c));
  TRY(run_upload_reals(run, p->self, rows, self));
  TRY(run_upload_reals(run, p->base, rows, self));
  TRY(run_upload_reals(run, p->forward.row_scale, rows, r));
  return run_upload_reals(run, p->backward.row_scale, rows, c);
}

static int may_halve(const struct propagation *p, const struct run *run, const struct direction *d) {
  const struct spmm op = {.a = d->halo_part, .x = p->tail, .y = p->tail};
  return d->adjacency->halo.all_near && !p->attends.on && !p->reduces &&
         (d->adjacency->halo.rows == 0 || spmm_divides(run->kernels, &op));
}

/* Rows of the halo land in the tail. All ranks take them in halves, or none does. */
static int meet(struct propagation *p, struct run *run, struct direction *d) {
  const struct halo_landing out = {.data = p->tail.data}, back = {0};
  if (d->borrowed) return OK;
  TRY(halo_meet(&d->adjacency->halo, run->comm, run->kernels, &p->reach, out, back));
  int64_t may_not = !may_halve(p, run, d);
  TRY(comm_max_int64(run->comm, &may_not));
  d->halves = !may_not;
  return OK;
}

static int upload_rows(struct run *run, struct direction *d) {
  const struct halo *halo = &d->adjacency->halo;
  if (d->borrowed) return OK;
  if (d->halo_id)
    TRY(device_upload(run->device, STREAM_COMPUTE, d->halo_id, halo->id,
                      halo->rows * (int64_t)sizeof *halo->id));
  return device_upload(run->device, STREAM_COMPUTE, d->has_halo, d->adjacency->has_halo,
                       d->adjacency->own_part.rows);
}

/* Scales first: a self loop of bad weight is named as such, though it may be among the arcs too. */
int graph_sums_start(struct propagation *p, struct run *run) {
  int code = upload_scales(p, run);
  if (code == OK) code = check_weights(p, run, &run->shard->in.own_part);
  if (code == OK) code = check_weights(p, run, &run->shard->in.halo_part);
  TRY(comm_agree(run->comm, code));
  for (int i = 0; direction_at(p, i); i++) TRY(upload_rows(run, direction_at(p, i)));
  for (int i = 0; direction_at(p, i); i++) TRY(meet(p, run, direction_at(p, i)));
  if (p->backward.borrowed) p->backward.halves = p->forward.halves;
  return OK;
}

/* Partial sums of long rows and, with tiles, of their rows. */
static int64_t workspace_of_attention(const struct propagation *p, const struct run *run, int64_t width) {
  const struct direction *d;
  const int64_t heads = p->attends.scores.heads > 0 ? p->attends.scores.heads : ATTENTION_HEADS;
  int64_t most = 0;
  for (int i = 0; (d = direction_at(p, i)); i++) {
    most = larger(most, attention_workspace(run->kernels, d->own_part, width, heads));
    most = larger(most, attention_workspace(run->kernels, d->halo_part, width, heads));
  }
  return most;
}

int64_t graph_sums_workspace(const struct propagation *p, const struct run *run, int64_t width, int message) {
  const struct direction *d;
  if (p->attends.on) return workspace_of_attention(p, run, width);
  const struct kernels *k = run->kernels;
  int64_t most = 0;
  for (int i = 0; (d = direction_at(p, i)); i++) {
    const struct adjacency *adjacency = d->adjacency;
    struct spmm op = {.a = d->own_part,
                      .x = tensor_padded(NULL, k->dtype, adjacency->own_part.cols, width),
                      .col_scale = message ? NULL : &most, /* there is one */
                      .y = tensor_padded(NULL, k->dtype, adjacency->own_part.rows, width)};
    most = larger(most, spmm_workspace(k, &op));
    op.a = d->halo_part;
    op.x.rows = adjacency->halo.rows;
    op.col_scale = NULL;
    most = larger(most, spmm_workspace(k, &op));
  }
  return most;
}

void graph_sums_free(struct propagation *p, struct run *run) {
  struct direction *d;
  for (int i = 0; (d = direction_at(p, i)); i++) {
    if (d->borrowed) continue;
    layout_free(run->kernels, d->own_part);
    layout_free(run->kernels, d->halo_part);
    if (d->adjacency) halo_leave(&d->adjacency->halo);
  }
  free(p->level);
}

/* As the epilogue of a layer that is one column wide: the bias is what is added. */
int propagation_set_loop(struct propagation *p, struct run *run, const void *more) {
  struct tensor base = tensor_of(p->base, run->kernels->real, rows_of(p, run), 1), self = base;
  self.data = p->self;
  return op_epilogue(run->kernels, &(struct epilogue){.z = base, .bias = more, .y = self});
}

/* What happens between the begin of an exchange and the last of its rows. first_half: see halo_start. */
struct passing {
  propagation_part *part;
  void *context;
  int64_t first_half;
};

static int run_part(struct run *run, const struct direction *d, struct tensor x, int halo, int whole,
                    const struct passing *passing) {
  const char *names[] = {"own part", "halo part", "own part of a level", "halo part of a level"};
  return PROFILE(names[halo + 2 * !whole], passing->part(run, d, x, halo, passing->context));
}

static int pass_parts(struct propagation *p, struct run *run, const struct direction *d,
                      struct tensor message, const void *scale, const struct passing *passing) {
  struct halo *halo = &d->adjacency->halo;
  struct kernels *k = run->kernels;
  int exchange = run->comm->size > 1, overlap = run->config->runtime.overlap;
  int whole = d == &p->forward || d == &p->backward;
  struct tensor packed = tensor_packed(tensor_rows(p->packed, 0, halo_send_rows(halo)), message.cols);
  struct tensor tail = halo_landed(halo, p->tail, message.cols);
  if (exchange) TRY(halo_start(halo, run->comm, k, message, scale, packed, tail, passing->first_half));
  if (exchange && !overlap) TRY(PROFILE("wait", halo_finish(halo, run->comm, k)));
  TRY(run_part(run, d, message, 0, whole, passing));
  if (passing->first_half > 0) {
    TRY(PROFILE("wait", halo_finish_first_half(halo, k)));
    if (halo->rows > 0) TRY(run_part(run, d, tail, 1, whole, passing));
  }
  if (exchange && overlap) TRY(PROFILE("wait", halo_finish(halo, run->comm, k)));
  return halo->rows > 0 ? run_part(run, d, tail, 1, whole, passing) : OK;
}

int propagate_parts(struct propagation *p, struct run *run, const struct direction *d, struct tensor message,
                    const void *scale, propagation_part *part, void *context) {
  return pass_parts(p, run, d, message, scale, &(struct passing){part, context, 0});
}

/* A product with P: what both its parts have. */
struct product {
  const struct propagation *p;
  const struct propagate_ends *ends;
  struct tensor y;
  int64_t first_half, done; /* columns of the halo's half that comes first, of that which has been added */
};

static const void *scale_of(const struct direction *d, const struct propagate_ends *ends) {
  return ends->message ? NULL : d->col_scale;
}

static int multiply_part(struct run *run, const struct direction *d, struct tensor x, int halo,
                         void *context) {
  struct product *product = context;
  const struct propagation *p = product->p;
  int several = run->comm->size > 1;
  struct spmm op = {.a = halo ? d->halo_part : d->own_part,
                    .x = x,
                    .row_scale = d->row_scale,
                    .added = product->ends->added,
                    .accumulate = halo,
                    .epilogue = product->ends->epilogue,
                    .below = product->ends->below,
                    .y = product->y};
  if (several && op.y.dtype != run->kernels->real)
    op.sums = tensor_rows(tensor_narrowed(p->sums, op.y.cols), 0, op.y.rows);
  if (!halo) {
    op.col_scale = op.self_col_scale = scale_of(d, product->ends);
    op.self_scale = p->self;
    op.self = tensor_rows(x, 0, op.y.rows); /* where a row has one */
    op.has_halo = several ? d->has_halo : NULL;
  } else if (product->first_half > 0) {
    op.first = product->done;
    op.end = product->done = product->done > 0 ? x.cols : product->first_half;
  }
  return op_spmm(run->kernels, &op);
}

/* The second half of the halo comes while the first is added; where rows end with what sees whole rows they
 * come at once. */
static int64_t first_half_of(const struct run *run, const struct direction *d, struct tensor x,
                             const struct propagate_ends *ends) {
  const struct epilogue *epilogue = ends->epilogue;
  if (!d->halves || !run->config->runtime.overlap) return 0;
  return epilogue && (epilogue->norm != NORM_NONE || epilogue->loss) ? 0 : halo_first_half(x);
}

int graph_sums_multiply(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                        const struct propagate_ends *ends, struct tensor y) {
  struct product product = {.p = p, .ends = ends, .y = y, .first_half = first_half_of(run, d, x, ends)};
  const struct passing passing = {multiply_part, &product, product.first_half};
  return pass_parts(p, run, d, x, scale_of(d, ends), &passing);
}

const struct propagation_ops graph_propagation = {.init = graph_sums_init,
                                                  .plan = graph_sums_plan,
                                                  .start = graph_sums_start,
                                                  .workspace = graph_sums_workspace,
                                                  .free = graph_sums_free,
                                                  .multiply = graph_sums_multiply};
