#include "models/core/propagation/hyper.h"

#include <math.h>

#include "kernels/format/layout.h"
#include "models/core/propagation/hyper_product.h"
#include "partition/halo/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int layouts_init(struct hyper_layouts *of, struct run *run, const struct layout_plan *plan,
                        struct hyper_part *part) {
  of->part = part;
  TRY(layout_init(run->kernels, &part->outer_own, plan, &of->outer_own));
  TRY(layout_init(run->kernels, &part->outer_away, plan, &of->outer_away));
  TRY(layout_init(run->kernels, &part->partial, plan, &of->partial));
  return layout_init(run->kernels, &part->rest, plan, &of->rest);
}

static int way_init(struct direction *d, struct run *run, const struct layout_plan *plan,
                    const struct hyper_layouts *there, const struct hyper_layouts *back) {
  enum incidence_form form = run->config->runtime.incidence;
  if (form == INCIDENCE_AUTO && plan->tiers == LAYOUT_CSR) form = INCIDENCE_STEPS; /* without preparation */
  d->way.there = there;
  d->way.back = back;
  return incidence_init(run->kernels, &there->part->inner_edges, &back->part->inner_vertices, plan, form,
                        &d->way.inner);
}

static int level_init(struct propagation *p, struct run *run, const struct layout_plan *plan, int i) {
  struct hyper_level_layouts *level = &p->hyper.level[i];
  TRY(layouts_init(&level->rows, run, plan, &p->hyper.hyper->level[i].rows));
  TRY(layouts_init(&level->all, run, plan, &p->hyper.hyper->level[i].all));
  TRY(way_init(&p->level[i].forward, run, plan, &level->all, &level->rows));
  return way_init(&p->level[i].backward, run, plan, &level->rows, &level->all);
}

static int all_layouts_init(struct propagation *p, struct run *run, const struct layout_plan *plan) {
  struct hyper_sums *s = &p->hyper;
  TRY(layouts_init(&s->all, run, plan, &s->hyper->all));
  TRY(way_init(&p->forward, run, plan, &s->all, &s->all));
  p->backward.way = p->forward.way;
  p->backward.borrowed = 1;
  TRY(memory_arrays("layouts of levels", ROOM(&p->level, p->levels), ROOM(&s->level, p->levels)));
  for (int i = 0; i < p->levels; i++) TRY(level_init(p, run, plan, i));
  return OK;
}

static int hyper_sums_init(struct propagation *p, struct run *run, int64_t width) {
  const struct layout_plan plan = {.tiers = run->config->runtime.layout,
                                   .width = width,
                                   .vector_threshold = run->config->runtime.vector_threshold};
  p->hyper.hyper = &run->shard->hyper;
  return PROFILE_HOST("layout", all_layouts_init(p, run, &plan));
}

/* Number i of the parts, NULL behind the last one; and of the ways, of which P^T may be P. */
static struct hyper_layouts *part_at(const struct propagation *p, int i) {
  const struct hyper_sums *s = &p->hyper;
  struct hyper_level_layouts *level = s->level && i <= 2 * p->levels ? s->level + (i - 1) / 2 : NULL;
  if (i == 0) return (struct hyper_layouts *)&s->all;
  if (!level) return NULL;
  return i % 2 == 1 ? &level->rows : &level->all;
}

static struct direction *way_at(const struct propagation *p, int i) {
  struct direction_level *level = p->level && i <= 2 * p->levels ? p->level + (i - 1) / 2 : NULL;
  if (i == 0) return (struct direction *)&p->forward;
  if (!level) return NULL;
  return i % 2 == 1 ? &level->forward : &level->backward;
}

static void hyper_sums_free(struct propagation *p, struct run *run) {
  struct hyper_layouts *of;
  for (int i = 0; way_at(p, i); i++) incidence_free(run->kernels, &way_at(p, i)->way.inner);
  for (int i = 0; (of = part_at(p, i)); i++) {
    struct layout *const layouts[] = {of->outer_own, of->outer_away, of->partial, of->rest};
    for (int l = 0; l < 4; l++) layout_free(run->kernels, layouts[l]);
  }
  free_all(p->level, p->hyper.level);
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
  s->edge_scale = arena_take(arena, (edges + hyper_arrivals(s->hyper->travel, &s->hyper->all)) * real);
  if (!s->trains_weights) return;
  s->size_scale = arena_take(arena, edges * real);
  s->edge_row = arena_take(arena, edges * (int64_t)sizeof *s->edge_row);
}

/* The first rows and columns of a level have the same scales. */
static void scale_levels(struct propagation *p) {
  for (int i = 0; i < p->levels; i++) {
    p->level[i].forward.row_scale = p->level[i].backward.col_scale = p->forward.row_scale;
    p->level[i].forward.col_scale = p->level[i].backward.row_scale = p->forward.col_scale;
  }
}

/* What travels for a level is among what travels for all. */
static int hyper_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  struct hyper_sums *s = &p->hyper;
  const struct hyper *h = s->hyper;
  enum dtype dtype = run->kernels->dtype;
  int64_t sends = h->all.halo.send_rows, halo = h->all.halo.rows;
  plan_scales(p, run, arena);
  scale_levels(p);
  s->outer = arena_tensor(arena, dtype, h->outer + hyper_arrivals(h->travel, &h->all), width);
  s->away = arena_tensor(arena, dtype, h->travel == TRAVEL_VERTICES ? halo : sends, width);
  s->back = arena_tensor(arena, dtype, halo, width);
  s->packed = arena_tensor(arena, dtype, sends, width);
  if (run->comm->size > 1 && dtype != run->kernels->real) {
    p->sums = arena_tensor(arena, run->kernels->real, h->own, width);
    s->outer_sums = arena_tensor(arena, run->kernels->real, h->outer, width);
  }
  struct hyper_layouts *of;
  for (int i = 0; (of = part_at(p, i)); i++) {
    of->has_halo = arena_take(arena, of->part->vertices);
    TRY(halo_prepare(&of->part->halo, arena));
  }
  return OK;
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
    const double degree = degree_of(run, h->vertex[v].degree, h->vertex[v].lonely);
    scale[v] = degree > 0 ? 1 / sqrt(degree) : 1; /* not 0, as r of a graph; without hyperedges it is idle */
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
  for (int64_t i = 0; i < hyper_arrivals(h->travel, &h->all); i++) scale[h->edges + i] = 1;
}

static int upload_scales(struct propagation *p, struct run *run) {
  struct hyper_sums *s = &p->hyper;
  int64_t own = s->hyper->own, edges = s->hyper->edges + hyper_arrivals(s->hyper->travel, &s->hyper->all);
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
static int meet(struct propagation *p, struct run *run, const struct hyper_layouts *of) {
  struct hyper_sums *s = &p->hyper;
  const struct halo_landing away = {s->away.data, 0}, arrivals = {s->outer.data, s->hyper->outer};
  const int vertices = s->hyper->travel == TRAVEL_VERTICES;
  return halo_meet(&of->part->halo, run->comm, run->kernels, &p->exchange.reach, vertices ? away : arrivals,
                   vertices ? arrivals : away);
}

static int hyper_sums_start(struct propagation *p, struct run *run) {
  const struct hyper_layouts *of;
  int code = upload_scales(p, run);
  if (code == OK) code = upload_rows(p, run);
  TRY(comm_agree(run->comm, code));
  for (int i = 0; (of = part_at(p, i)); i++)
    TRY(device_upload(run->device, STREAM_COMPUTE, of->has_halo, of->part->has_halo, of->part->vertices));
  for (int i = 0; (of = part_at(p, i)); i++) TRY(meet(p, run, of));
  return OK;
}

/* Of products of a layout with rows like those of x, scaled. */
static int64_t workspace_of(const struct run *run, const struct layout *a, struct tensor x) {
  static const double one;
  x.rows = a->csr->cols;
  struct spmm op = {.a = a, .x = x, .col_scale = &one, .y = x};
  return spmm_workspace(run->kernels, &op);
}

static int64_t workspace_of_way(const struct run *run, const struct hyper_sums *s, const struct direction *d,
                                struct tensor rows) {
  static const double one; /* scales are there, whatever they are */
  struct incidence_sum op = {.a = &d->way.inner,
                             .x = tensor_rows(rows, 0, d->way.there->part->vertices),
                             .col_scale = &one,
                             .edge_scale = &one,
                             .y = tensor_rows(rows, 0, d->way.back->part->vertices)};
  const int64_t bare = incidence_workspace(run->kernels, &op);
  if (!s->trains_weights) return bare;
  op.kept = tensor_padded((void *)&one, run->kernels->dtype, d->way.there->part->inner, rows.cols);
  return larger(bare, incidence_workspace(run->kernels, &op));
}

static int64_t hyper_sums_workspace(const struct propagation *p, const struct run *run, int64_t width,
                                    int message) {
  (void)message;
  const struct hyper_layouts *of;
  struct tensor rows = tensor_padded(NULL, run->kernels->dtype, p->hyper.hyper->own, width);
  int64_t most = 0;
  for (int i = 0; way_at(p, i); i++)
    most = larger(most, workspace_of_way(run, &p->hyper, way_at(p, i), rows));
  for (int i = 0; (of = part_at(p, i)); i++) {
    struct layout *const layouts[] = {of->outer_own, of->outer_away, of->partial, of->rest};
    for (int l = 0; l < 4; l++) most = larger(most, workspace_of(run, layouts[l], rows));
  }
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

const struct propagation_ops hyper_propagation = {.init = hyper_sums_init,
                                                  .plan = hyper_sums_plan,
                                                  .start = hyper_sums_start,
                                                  .workspace = hyper_sums_workspace,
                                                  .free = hyper_sums_free,
                                                  .multiply = hyper_sums_multiply};
