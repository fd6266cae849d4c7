#include "models/core/propagation/graph_sums.h"

#include <assert.h>

#include "kernels/format/layout.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/elementwise.h"
#include "models/core/propagation/graph_scales.h"
#include "models/core/propagation/halo_stages.h"
#include "models/core/propagation/late_rows.h"
#include "partition/halo/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int layouts_init(struct direction *d, struct run *run, const struct layout_plan *plan,
                        struct adjacency *adjacency) {
  d->adjacency = adjacency;
  TRY(layout_init(run->kernels, &adjacency->own_part, plan, &d->own_part));
  for (int s = 0; s < adjacency->halo.stages; s++)
    TRY(layout_init(run->kernels, &adjacency->halo_part[s], plan, &d->halo_part[s]));
  if (adjacency->late_part.rows == 0) return OK;
  struct layout_plan late = *plan;
  if (plan->scores.heads > 0) late.tiers = LAYOUT_GATHER; /* tiles of attention have one matrix */
  return layout_init(run->kernels, &adjacency->late_part, &late, &d->late_part);
}

/* Number i of the directions, NULL behind the last one: P, P^T, and those of the levels. */
static struct direction *direction_at(const struct propagation *p, int i) {
  struct direction_level *level = p->level && i / 2 <= p->levels ? p->level + i / 2 - 1 : NULL;
  if (i < 2) return (struct direction *)(i == 0 ? &p->forward : &p->backward);
  if (!level) return NULL;
  return i % 2 == 0 ? &level->forward : &level->backward;
}

static int direction_init(const struct propagation *p, struct run *run, const struct layout_plan *plan,
                          struct adjacency *adjacency, struct direction *d) {
  TRY(late_rows_move(p, run, plan, adjacency));
  TRY(halo_stages_choose(p, run, plan, adjacency));
  return layouts_init(d, run, plan, adjacency);
}

static int all_layouts_init(struct propagation *p, struct run *run, const struct layout_plan *plan) {
  TRY(direction_init(p, run, plan, &run->shard->in, &p->forward));
  if (run->comm->rank == 0 && run->shard->in.halo.stages > 1)
    log_detail("halo: comes in two stages; rows of the first are summed while those of the second travel");
  if (run->shard->directed) TRY(direction_init(p, run, plan, &run->shard->out, &p->backward));
  TRY(memory_arrays("layouts of levels", ROOM(&p->level, p->levels)));
  for (int i = 0; i < p->levels; i++) {
    struct shard_level *level = &run->shard->levels.of[i];
    TRY(direction_init(p, run, plan, &level->forward, &p->level[i].forward));
    TRY(direction_init(p, run, plan, &level->backward, &p->level[i].backward));
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
  assert(graph_scales_add_loops(p) == (run->shard->in.loops == LOOPS_WITHIN));
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
  d->has_halo = arena_take(arena, d->adjacency->halo.stages * adjacency_rows(d->adjacency));
  if (wants_ids) d->halo_id = arena_take(arena, d->adjacency->halo.rows * (int64_t)sizeof *d->halo_id);
  if (wants_ids && d->late_part)
    d->late_id = arena_take(arena, d->adjacency->late_part.cols * (int64_t)sizeof *d->late_id);
  return halo_prepare(&d->adjacency->halo, arena);
}

/* The first rows and columns have the same scales. */
static void scale_as(const struct direction *all, struct direction *first) {
  first->row_scale = all->row_scale;
  first->col_scale = all->col_scale;
}

/* Whether rows are summed in parts, between which sums of reals need a place of their own. */
static int hands_sums_over(const struct propagation *p, const struct run *run) {
  const int64_t rows = larger(p->forward.adjacency->own_part.rows, p->backward.adjacency->own_part.rows);
  return run->comm->size > 1 && run->kernels->dtype != run->kernels->real && !p->attends.on && rows > 0;
}

int graph_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  enum dtype dtype = run->kernels->dtype;
  const struct halo *in = &p->forward.adjacency->halo, *out = &p->backward.adjacency->halo;
  graph_scales_plan(p, run, arena);
  for (int i = 0; direction_at(p, i); i++) TRY(direction_plan(direction_at(p, i), arena, p->wants_ids));
  for (int i = 2; direction_at(p, i); i++) scale_as(direction_at(p, i % 2), direction_at(p, i));
  if (p->backward.borrowed) {
    p->backward.has_halo = p->forward.has_halo;
    p->backward.halo_id = p->forward.halo_id;
    p->backward.late_id = p->forward.late_id;
  }
  p->exchange.packed = arena_tensor(arena, dtype, larger(halo_packed_rows(in), halo_packed_rows(out)), width);
  p->exchange.tail = arena_tensor(arena, dtype, larger(halo_landing_rows(in), halo_landing_rows(out)), width);
  p->exchange.arena = arena;
  if (!p->attends.on && (p->forward.late_part || p->backward.late_part)) /* messages lie there as they are */
    p->exchange.beside = arena_tensor(arena, dtype, graph_scales_rows(p, run), width);
  if (hands_sums_over(p, run))
    p->sums = arena_tensor(arena, run->kernels->real, graph_scales_rows(p, run), width);
  return OK;
}

/* Rows of the halo land in the tail. */
static int meet(struct propagation *p, struct run *run, struct direction *d) {
  const struct halo_landing out = {.data = p->exchange.tail.data}, back = {0};
  if (d->borrowed) return OK;
  return halo_meet(&d->adjacency->halo, run->comm, run->kernels, &p->exchange.reach, out, back);
}

static int upload_late_ids(struct run *run, const struct direction *d) {
  const int64_t own = d->adjacency->late_part.near * (int64_t)sizeof *d->late_id;
  const struct halo *halo = &d->adjacency->halo;
  TRY(device_upload(run->device, STREAM_COMPUTE, d->late_id, run->shard->global_id, own));
  return device_upload(run->device, STREAM_COMPUTE, (char *)d->late_id + own, halo->id,
                       halo->rows * (int64_t)sizeof *d->late_id);
}

static int upload_rows(struct run *run, struct direction *d) {
  const struct halo *halo = &d->adjacency->halo;
  if (d->borrowed) return OK;
  if (d->late_id) TRY(upload_late_ids(run, d));
  if (d->halo_id)
    TRY(device_upload(run->device, STREAM_COMPUTE, d->halo_id, halo->id,
                      halo->rows * (int64_t)sizeof *halo->id));
  return device_upload(run->device, STREAM_COMPUTE, d->has_halo, d->adjacency->has_halo,
                       halo->stages * adjacency_rows(d->adjacency));
}

int graph_sums_start(struct propagation *p, struct run *run) {
  TRY(comm_agree(run->comm, graph_scales_start(p, run)));
  for (int i = 0; direction_at(p, i); i++) TRY(upload_rows(run, direction_at(p, i)));
  for (int i = 0; direction_at(p, i); i++) TRY(meet(p, run, direction_at(p, i)));
  return OK;
}

/* Partial sums of long rows and, with tiles, of their rows. */
static int64_t workspace_of_attention(const struct propagation *p, const struct run *run, int64_t width) {
  const struct direction *d;
  const int64_t heads = p->attends.scores.heads > 0 ? p->attends.scores.heads : ATTENTION_HEADS;
  int64_t most = 0;
  for (int i = 0; (d = direction_at(p, i)); i++) {
    most = larger(most, attention_workspace(run->kernels, d->own_part, width, heads));
    for (int s = 0; s < d->adjacency->halo.stages; s++)
      most = larger(most, attention_workspace(run->kernels, d->halo_part[s], width, heads));
    if (d->late_part) most = larger(most, attention_workspace(run->kernels, d->late_part, width, heads));
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
                      .col_scale = message || d->late_part ? NULL : &most, /* there is one */
                      .y = tensor_padded(NULL, k->dtype, adjacency_rows(adjacency), width)};
    most = larger(most, spmm_workspace(k, &op));
    if (d->late_part) {
      op.a = d->late_part;
      most = larger(most, spmm_workspace(k, &op));
    }
    op.col_scale = NULL;
    for (int s = 0; s < adjacency->halo.stages; s++) {
      op.a = d->halo_part[s];
      op.x.rows = adjacency->halo.stage[s].came.count;
      most = larger(most, spmm_workspace(k, &op));
    }
  }
  return most;
}

void graph_sums_free(struct propagation *p, struct run *run) {
  struct direction *d;
  for (int i = 0; (d = direction_at(p, i)); i++) {
    if (d->borrowed) continue;
    layout_free(run->kernels, d->own_part);
    for (int s = 0; s < HALO_STAGES; s++) layout_free(run->kernels, d->halo_part[s]);
    layout_free(run->kernels, d->late_part);
    if (d->adjacency) halo_leave(&d->adjacency->halo);
  }
  free(p->level);
}

/* What happens between the begin of an exchange and the last of its rows. */
struct passing {
  propagation_part *part;
  propagation_late *late;
  void *context;
};

/* Own columns. */
static struct propagation_columns own_columns(const struct run *run, const struct direction *d,
                                              struct tensor message) {
  return (struct propagation_columns){
      .a = d->own_part, .x = message, .has_halo = run->comm->size > 1 ? d->has_halo : NULL};
}

static struct propagation_columns halo_columns(const struct direction *d, int stage, struct tensor tail) {
  const struct halo_stage *of = &d->adjacency->halo.stage[stage];
  const int last = stage == d->adjacency->halo.stages - 1;
  return (struct propagation_columns){
      .a = d->halo_part[stage],
      .x = tensor_rows(tail, of->came.first, of->came.count),
      .halo = 1,
      .first = of->came.first,
      .has_halo = last ? NULL : d->has_halo + (stage + 1) * adjacency_rows(d->adjacency)};
}

static int run_part(const struct propagation *p, struct run *run, const struct direction *d,
                    const struct propagation_columns *columns, const struct passing *passing) {
  const char *names[] = {"own part", "halo part", "own part of a level", "halo part of a level"};
  const int whole = d == &p->forward || d == &p->backward;
  return PROFILE(names[columns->halo + 2 * !whole], passing->part(run, d, columns, passing->context));
}

static int run_late(struct run *run, const struct direction *d, struct tensor x, struct tensor tail,
                    enum spmm_phase phase, const struct passing *passing) {
  const char *name = phase == SPMM_AHEAD ? "late rows ahead" : "late rows";
  if (!d->late_part || (phase == SPMM_AHEAD && d->late_part->tiles == 0)) return OK;
  return PROFILE(name, passing->late(run, d, x, tail, phase, passing->context));
}

/* Once a stage of the halo has come. */
static int add_stage(struct propagation *p, struct run *run, const struct direction *d, int stage,
                     struct tensor tail, const struct passing *passing) {
  const struct propagation_columns columns = halo_columns(d, stage, tail);
  return columns.a->csr->rows > 0 ? run_part(p, run, d, &columns, passing) : OK;
}

static int finish_stage(struct run *run, const struct direction *d, int stage) {
  return PROFILE("wait", halo_finish(&d->adjacency->halo, stage, run->comm, run->kernels));
}

/* What tensor cores have summed of late rows stays in the workspace until these end: nothing else may need it
 * in between. */
static int pass_parts(struct propagation *p, struct run *run, const struct direction *d,
                      struct tensor message, const void *scale, const struct passing *passing) {
  struct halo *halo = &d->adjacency->halo;
  const int exchange = run->comm->size > 1, overlap = run->config->runtime.overlap, last = halo->stages - 1;
  const struct tensor packed = tensor_packed(tensor_rows(p->exchange.packed, 0, halo_packed_rows(halo)),
                                             message.cols);
  const struct tensor tail = halo_landed(halo, p->exchange.tail, message.cols);
  const struct propagation_columns own = own_columns(run, d, message);
  if (exchange) TRY(halo_start(halo, run->comm, run->kernels, message, scale, packed, tail));
  for (int s = 0; exchange && !overlap && s <= last; s++) TRY(finish_stage(run, d, s));
  TRY(run_part(p, run, d, &own, passing));
  TRY(run_late(run, d, message, tail, SPMM_AHEAD, passing));
  for (int s = 0; s <= last; s++) {
    if (exchange && overlap) TRY(finish_stage(run, d, s));
    if (s == last) TRY(run_late(run, d, message, tail, SPMM_REST, passing));
    TRY(add_stage(p, run, d, s, tail, passing));
  }
  return OK;
}

/* What late rows read has its scale, and lies in whole rows in the same block as the halo's rows. */
static int is_beside_tail(const struct propagation *p, struct tensor x) {
  const int64_t place = (const char *)x.data - p->exchange.arena->base;
  return (uintptr_t)x.data % 16 == 0 && x.stride * dtype_bytes(x.dtype) % ROW_BYTES == 0 && place >= 0 &&
         place < p->exchange.arena->size;
}

int propagate_parts(struct propagation *p, struct run *run, const struct direction *d, struct tensor message,
                    const void *scale, propagation_part *part, propagation_late *late, void *context) {
  const struct passing passing = {.part = part, .late = late, .context = context};
  assert(!d->late_part || message.rows == 0 || is_beside_tail(p, message));
  return pass_parts(p, run, d, message, scale, &passing);
}

/* A product with P: what its parts have in common. */
struct product {
  const struct propagation *p;
  const struct propagate_ends *ends;
  struct tensor y;
};

static const void *scale_of(const struct direction *d, const struct propagate_ends *ends) {
  return ends->message ? NULL : d->col_scale;
}

/* Of the rows of a layout, all that no part has apart. */
static struct spmm product_of(const struct product *product, const struct direction *d,
                              const struct layout *a, struct tensor x) {
  return (struct spmm){.a = a,
                       .x = x,
                       .row_scale = d->row_scale,
                       .added = product->ends->added,
                       .epilogue = product->ends->epilogue,
                       .below = product->ends->below,
                       .y = product->y};
}

/* Own columns: c, and the rows' own loops. */
static void add_own(const struct product *product, const struct direction *d, struct spmm *op) {
  op->col_scale = op->self_col_scale = scale_of(d, product->ends);
  op->self_scale = product->p->self;
  op->self = tensor_rows(op->x, 0, op->y.rows); /* where a row has one */
}

static int multiply_part(struct run *run, const struct direction *d,
                         const struct propagation_columns *columns, void *context) {
  const struct product *product = context;
  struct spmm op = product_of(product, d, columns->a, columns->x);
  if (op.a->csr->rows == 0) return OK;
  if (run->comm->size > 1 && op.y.dtype != run->kernels->real)
    op.sums = tensor_rows(tensor_narrowed(product->p->sums, op.y.cols), 0, op.y.rows);
  op.accumulate = columns->halo;
  op.has_halo = columns->has_halo;
  if (!columns->halo) add_own(product, d, &op);
  return op_spmm(run->kernels, &op);
}

static int multiply_late(struct run *run, const struct direction *d, struct tensor x, struct tensor tail,
                         enum spmm_phase phase, void *context) {
  const struct product *product = context;
  struct spmm op = product_of(product, d, d->late_part, x);
  add_own(product, d, &op);
  op.far = tail;
  op.phase = phase;
  return op_spmm(run->kernels, &op);
}

/* Where X is not, a copy is. */
static int bring_beside_tail(const struct propagation *p, struct run *run, const struct direction *d,
                             struct propagate_ends *ends, struct tensor *x) {
  const struct gather copy = {.x = *x,
                              .scale = scale_of(d, ends),
                              .y = tensor_rows(tensor_narrowed(p->exchange.beside, x->cols), 0, x->rows)};
  if (!d->late_part || x->rows == 0 || (!copy.scale && is_beside_tail(p, *x))) return OK;
  ends->message = 1;
  *x = copy.y;
  return PROFILE("pack", op_gather(run->kernels, &copy));
}

int graph_sums_multiply(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                        const struct propagate_ends *ends, struct tensor y) {
  struct propagate_ends along = *ends;
  struct product product = {.p = p, .ends = &along, .y = y};
  const struct passing passing = {multiply_part, multiply_late, &product};
  TRY(bring_beside_tail(p, run, d, &along, &x));
  return pass_parts(p, run, d, x, scale_of(d, &along), &passing);
}

const struct propagation_ops graph_propagation = {.init = graph_sums_init,
                                                  .plan = graph_sums_plan,
                                                  .start = graph_sums_start,
                                                  .workspace = graph_sums_workspace,
                                                  .free = graph_sums_free,
                                                  .multiply = graph_sums_multiply};
