#include "models/core/hyper.h"

#include <math.h>

#include "kernels/format/layout.h"
#include "partition/shard/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int layouts_init(struct hyper_sums *s, struct run *run, const struct layout_plan *plan) {
  struct hyper *h = s->hyper;
  /* Pairs of vertices would be a preparation. */
  const enum incidence_form form = plan->tiers == LAYOUT_CSR ? INCIDENCE_STEPS : INCIDENCE_AUTO;
  TRY(incidence_init(run->kernels, &h->inner_edges, &h->inner_vertices, plan, form, &s->inner));
  TRY(layout_init(run->kernels, &h->outer_own, plan, &s->outer_own));
  TRY(layout_init(run->kernels, &h->outer_away, plan, &s->outer_away));
  TRY(layout_init(run->kernels, &h->partial, plan, &s->partial));
  return layout_init(run->kernels, &h->rest, plan, &s->rest);
}

static int hyper_sums_init(struct propagation *p, struct run *run, int64_t width) {
  const struct layout_plan plan = {.tiers = run->config->runtime.layout, .width = width};
  p->hyper.hyper = &run->shard->hyper;
  return PROFILE_HOST("layout", layouts_init(&p->hyper, run, &plan));
}

static void hyper_sums_free(struct propagation *p, struct run *run) {
  struct hyper_sums *s = &p->hyper;
  struct layout *const layouts[] = {s->outer_own, s->outer_away, s->partial, s->rest};
  incidence_free(run->kernels, &s->inner);
  for (int i = 0; i < 4; i++) layout_free(run->kernels, layouts[i]);
}

/* Whether s is not 0 everywhere: a vertex has a hyperedge of its own, or a loop. */
static int has_self(const struct propagation *p, const struct run *run) {
  const struct hyper *h = p->hyper.hyper;
  if (p->loop != 0 || p->loop_changes) return 1;
  for (int64_t v = 0; v < h->own && run->config->model.self_hyperedges; v++)
    if (h->vertex[v].lonely) return 1;
  return 0;
}

static void plan_scales(struct propagation *p, struct run *run, struct arena *arena) {
  struct hyper_sums *s = &p->hyper;
  int64_t real = dtype_bytes(run->kernels->real), bytes = run->shard->own * real, edges = s->hyper->edges;
  p->self = has_self(p, run) ? arena_take(arena, bytes) : NULL;
  if (p->loop_changes) p->base = arena_take(arena, bytes);
  if (p->adjacency_norm != ADJACENCY_NORM_HYPER_SUM)
    p->forward.row_scale = p->backward.col_scale = arena_take(arena, bytes);
  if (p->adjacency_norm == ADJACENCY_NORM_HYPER_NORM)
    p->forward.col_scale = p->backward.row_scale = arena_take(arena, bytes);
  s->edge_scale = arena_take(arena, (edges + hyper_arrivals(s->hyper)) * real);
  if (!s->trains_weights) return;
  s->size_scale = arena_take(arena, edges * real);
  s->edge_row = arena_take(arena, edges * (int64_t)sizeof *s->edge_row);
}

static int hyper_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  struct hyper_sums *s = &p->hyper;
  const struct hyper *h = s->hyper;
  enum dtype dtype = run->kernels->dtype;
  int64_t sends = halo_send_rows(&h->halo);
  plan_scales(p, run, arena);
  s->has_halo = arena_take(arena, h->own);
  s->outer = arena_tensor(arena, dtype, h->outer + hyper_arrivals(h), width);
  s->away = arena_tensor(arena, dtype, h->travel == TRAVEL_VERTICES ? h->halo.rows : sends, width);
  s->back = arena_tensor(arena, dtype, h->halo.rows, width);
  s->packed = arena_tensor(arena, dtype, sends, width);
  if (run->comm->size > 1 && dtype != run->kernels->real) {
    p->sums = arena_tensor(arena, run->kernels->real, h->own, width);
    s->outer_sums = arena_tensor(arena, run->kernels->real, h->outer, width);
  }
  return halo_prepare(&s->hyper->halo, arena);
}

/* Own hyperedges count for the degrees where the configuration gives them. */
static double degree_of(const struct run *run, double degrees, double lonely) {
  return degrees + (run->config->model.self_hyperedges ? lonely : 0);
}

static double inverse_root(double x) {
  return x > 0 ? 1 / sqrt(x) : 0;
}

static void vertex_scales(const struct propagation *p, const struct run *run, double *self, double *scale) {
  const struct hyper *h = p->hyper.hyper;
  for (int64_t v = 0; v < h->own; v++) {
    int own = run->config->model.self_hyperedges && h->vertex[v].lonely;
    scale[v] = inverse_root(degree_of(run, h->vertex[v].degree, h->vertex[v].lonely));
    self[v] = p->loop + (!own ? 0 : p->adjacency_norm == ADJACENCY_NORM_HYPER_DEGREE ? scale[v] : 1);
  }
}

static void edge_scales(const struct propagation *p, const struct run *run, double *scale) {
  const struct hyper *h = p->hyper.hyper;
  for (int64_t e = 0; e < h->edges; e++) {
    const struct hyper_edge *edge = &h->edge[e];
    double size = (double)edge->size, inverse = size > 0 ? 1 / size : 0;
    double mean = degree_of(run, (double)edge->degrees, (double)edge->lonely) * inverse;
    scale[e] = p->adjacency_norm == ADJACENCY_NORM_HYPER_SUM      ? 1
               : p->adjacency_norm == ADJACENCY_NORM_HYPER_DEGREE ? inverse_root(mean) * inverse
                                                                  : inverse;
  }
  for (int64_t i = 0; i < hyper_arrivals(h); i++) scale[h->edges + i] = 1;
}

static int upload_scales(struct propagation *p, struct run *run) {
  struct hyper_sums *s = &p->hyper;
  int64_t own = s->hyper->own, edges = s->hyper->edges + hyper_arrivals(s->hyper);
  FREED double *self = NULL, *scale = NULL, *edge = NULL;
  TRY(memory_arrays("degree scales", ROOM(&self, own), ROOM(&scale, own), ROOM(&edge, edges)));
  vertex_scales(p, run, self, scale);
  edge_scales(p, run, edge);
  TRY(run_upload_reals(run, p->self, own, self));
  TRY(run_upload_reals(run, p->base, own, self));
  TRY(run_upload_reals(run, p->forward.row_scale, own, scale));
  TRY(run_upload_reals(run, p->forward.col_scale, own, scale));
  TRY(run_upload_reals(run, s->edge_scale, edges, edge));
  return run_upload_reals(run, s->size_scale, s->hyper->edges, edge);
}

/* The hyperedge behind each own one. */
static int upload_rows(struct propagation *p, struct run *run) {
  struct hyper_sums *s = &p->hyper;
  const struct hyper *h = s->hyper;
  FREED int32_t *row = NULL;
  if (!s->edge_row) return OK;
  TRY(memory_arrays("ids of hyperedges", ROOM(&row, h->edges)));
  for (int64_t e = 0; e < h->edges; e++) row[e] = (int32_t)h->edge_id[e];
  TRY(device_upload(run->device, STREAM_COMPUTE, s->edge_row, row, h->edges * (int64_t)sizeof *row));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

/* Vertices that arrive are away from their owners, sums for them lie behind those of own hyperedges; where
 * hyperedges travel it is the other way round. */
static int meet(struct propagation *p, struct run *run) {
  struct hyper_sums *s = &p->hyper;
  const struct halo_landing away = {s->away.data, 0}, arrivals = {s->outer.data, s->hyper->outer};
  const int vertices = s->hyper->travel == TRAVEL_VERTICES;
  return halo_meet(&s->hyper->halo, run->comm, run->kernels, &p->reach, vertices ? away : arrivals,
                   vertices ? arrivals : away);
}

static int hyper_sums_start(struct propagation *p, struct run *run) {
  int code = upload_scales(p, run);
  if (code == OK) code = upload_rows(p, run);
  TRY(comm_agree(run->comm, code));
  TRY(device_upload(run->device, STREAM_COMPUTE, p->hyper.has_halo, p->hyper.hyper->has_halo,
                    p->hyper.hyper->own));
  return meet(p, run);
}

/* Of products of a layout with rows like those of x, scaled. */
static int64_t workspace_of(const struct run *run, const struct layout *a, struct tensor x) {
  static const double one;
  x.rows = a->csr->cols;
  struct spmm op = {.a = a, .x = x, .col_scale = &one, .y = x};
  return spmm_workspace(run->kernels, &op);
}

static int64_t hyper_sums_workspace(const struct propagation *p, const struct run *run, int64_t width,
                                    int message) {
  (void)message;
  static const double one; /* scales are there, whatever they are */
  const struct hyper_sums *s = &p->hyper;
  struct tensor rows = tensor_padded(NULL, run->kernels->dtype, s->hyper->own, width);
  struct incidence_sum op = {.a = &s->inner, .x = rows, .col_scale = &one, .edge_scale = &one, .y = rows};
  struct layout *const layouts[] = {s->outer_own, s->outer_away, s->partial, s->rest};
  int64_t most = incidence_workspace(run->kernels, &op);
  if (s->trains_weights) op.kept = tensor_padded((void *)&one, run->kernels->dtype, s->hyper->inner, width);
  most = larger(most, incidence_workspace(run->kernels, &op));
  for (int i = 0; i < 4; i++) most = larger(most, workspace_of(run, layouts[i], rows));
  return most;
}

int hyper_set_weights(struct propagation *p, struct run *run, const void *weight) {
  struct hyper_sums *s = &p->hyper;
  return op_incidence_weights(run->kernels, &(struct incidence_weights){.weight = weight,
                                                                        .id = s->edge_row,
                                                                        .scale = s->size_scale,
                                                                        .out = s->edge_scale,
                                                                        .count = s->hyper->edges});
}

/* One product: where its parts lie. */
struct product {
  struct propagation *p;
  struct run *run;
  const struct direction *d;
  const void *scale; /* of x's rows, NULL: 1 */
  struct tensor x, y;
  const struct epilogue *epilogue;
  struct tensor outer, edges, arrivals; /* outer = edges, then arrivals */
  struct tensor edge_sums;              /* real: where edges are added up; edges themselves where these are */
  struct tensor sums;                   /* of rows of y, data NULL: y itself */
  struct tensor away, back, packed;
  const void *outer_scale; /* t of outer hyperedges, then of arrivals */
};

static struct product product_of(struct propagation *p, struct run *run, const struct direction *d,
                                 struct tensor x, const struct propagate_ends *ends, struct tensor y) {
  const struct hyper_sums *s = &p->hyper;
  struct tensor outer = tensor_narrowed(s->outer, y.cols);
  struct tensor edges = tensor_rows(outer, 0, s->hyper->outer);
  enum dtype type = run->kernels->real;
  int64_t real = dtype_bytes(type);
  return (struct product){.p = p,
                          .run = run,
                          .d = d,
                          .scale = ends->message ? NULL : d->col_scale,
                          .x = x,
                          .y = y,
                          .epilogue = ends->epilogue,
                          .outer = outer,
                          .edges = edges,
                          .edge_sums = outer.dtype == type ? edges : tensor_narrowed(s->outer_sums, y.cols),
                          .sums = y.dtype == type ? (struct tensor){0} : tensor_narrowed(p->sums, y.cols),
                          .arrivals = tensor_rows(outer, s->hyper->outer, outer.rows - s->hyper->outer),
                          .away = tensor_narrowed(s->away, y.cols),
                          .back = tensor_narrowed(s->back, y.cols),
                          .packed = tensor_narrowed(s->packed, y.cols),
                          .outer_scale = (const char *)s->edge_scale + s->hyper->inner * real};
}

static int multiply(const struct product *t, const struct layout *a, struct tensor x, const void *col_scale,
                    struct tensor y) {
  struct spmm op = {.a = a, .x = x, .col_scale = col_scale, .y = y};
  return y.rows > 0 ? op_spmm(t->run->kernels, &op) : OK;
}

static int wait(const struct product *t) {
  struct run *run = t->run;
  return PROFILE("wait", halo_finish(&t->p->hyper.hyper->halo, run->comm, run->kernels));
}

static int sum_inner(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  struct incidence_sum op = {.a = &s->inner,
                             .x = t->x,
                             .col_scale = t->scale,
                             .edge_scale = s->edge_scale,
                             .self_scale = t->p->self,
                             .row_scale = t->d->row_scale,
                             .has_halo = t->run->comm->size > 1 ? s->has_halo : NULL,
                             .epilogue = t->epilogue,
                             .sums = t->sums,
                             .y = t->y};
  if (s->kept.data) op.kept = tensor_rows(s->kept, 0, s->hyper->inner);
  return PROFILE("own part", op_incidence_sum(t->run->kernels, &op));
}

/* Sums of outer hyperedges over own vertices. */
static int sum_outer(const struct product *t) {
  return PROFILE("own part", multiply(t, t->p->hyper.outer_own, t->x, t->scale, t->edge_sums));
}

/* And over the others; then they are complete. */
static int complete_outer(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  struct spmm op = {.a = s->outer_away, .x = t->away, .accumulate = 1, .y = t->edges};
  if (t->edges.dtype != t->edge_sums.dtype) op.sums = t->edge_sums;
  if (t->edges.rows == 0) return OK;
  TRY(PROFILE("halo part", op_spmm(t->run->kernels, &op)));
  if (!s->kept.data) return OK;
  struct tensor kept = tensor_rows(s->kept, s->hyper->inner, t->edges.rows);
  return device_copy(t->run->device, STREAM_COMPUTE, kept.data, t->edges.data, tensor_bytes(t->edges));
}

static int send_back(const struct product *t) {
  struct run *run = t->run;
  TRY(halo_return_start(&t->p->hyper.hyper->halo, run->comm, run->kernels, t->back,
                        t->p->hyper.hyper->travel == TRAVEL_VERTICES ? t->arrivals : t->away));
  return run->config->runtime.overlap ? OK : wait(t);
}

static int send(const struct product *t, struct tensor rows, const void *scale, struct tensor to) {
  struct run *run = t->run;
  TRY(halo_start(&t->p->hyper.hyper->halo, run->comm, run->kernels, rows, scale, t->packed, to, 0));
  return run->config->runtime.overlap ? OK : wait(t);
}

/* While waiting costs nothing where the wait came before. */
static int wait_late(const struct product *t) {
  return t->run->config->runtime.overlap ? wait(t) : OK;
}

/* Foreign vertices come, sums for them go back. */
static int travel_vertices(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  TRY(send(t, t->x, t->scale, t->away));
  TRY(sum_outer(t));
  TRY(wait_late(t));
  TRY(complete_outer(t));
  TRY(PROFILE("halo part", multiply(t, s->partial, t->edges, t->outer_scale, t->back)));
  TRY(send_back(t));
  TRY(sum_inner(t));
  return wait_late(t);
}

/* Sums for foreign hyperedges go, the finished rows come. */
static int travel_hyperedges(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  TRY(PROFILE("own part", multiply(t, s->partial, t->x, t->scale, t->back)));
  TRY(send_back(t));
  TRY(sum_outer(t));
  TRY(sum_inner(t));
  TRY(wait_late(t));
  TRY(complete_outer(t));
  TRY(send(t, t->edges, t->outer_scale, t->arrivals));
  return wait_late(t);
}

static int sum_rest(const struct product *t) {
  struct spmm op = {.a = t->p->hyper.rest,
                    .x = t->outer,
                    .col_scale = t->outer_scale,
                    .row_scale = t->d->row_scale,
                    .accumulate = 1,
                    .epilogue = t->epilogue,
                    .sums = t->sums,
                    .y = t->y};
  return PROFILE("halo part", op_spmm(t->run->kernels, &op));
}

static int hyper_sums_multiply(struct propagation *p, struct run *run, const struct direction *d,
                               struct tensor x, const struct propagate_ends *ends, struct tensor y) {
  struct product t = product_of(p, run, d, x, ends, y);
  if (run->comm->size == 1) return sum_inner(&t);
  TRY(p->hyper.hyper->travel == TRAVEL_VERTICES ? travel_vertices(&t) : travel_hyperedges(&t));
  return p->hyper.hyper->rest.rows > 0 ? sum_rest(&t) : OK;
}

const struct propagation_ops hyper_propagation = {.init = hyper_sums_init,
                                                  .plan = hyper_sums_plan,
                                                  .start = hyper_sums_start,
                                                  .workspace = hyper_sums_workspace,
                                                  .free = hyper_sums_free,
                                                  .multiply = hyper_sums_multiply};
