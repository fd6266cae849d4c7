#include "models/core/graph_sums.h"

#include <assert.h>

#include "kernels/format/layout.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/elementwise.h"
#include "models/core/graph_scales.h"
#include "models/core/late_rows.h"
#include "partition/halo/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int layouts_init(struct direction *d, struct run *run, const struct layout_plan *plan,
                        struct adjacency *adjacency) {
  d->adjacency = adjacency;
  TRY(layout_init(run->kernels, &adjacency->own_part, plan, &d->own_part));
  TRY(layout_init(run->kernels, &adjacency->halo_part, plan, &d->halo_part));
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

static int all_layouts_init(struct propagation *p, struct run *run, const struct layout_plan *plan) {
  TRY(late_rows_move(p, run, plan, &run->shard->in, &p->forward.waits));
  TRY(layouts_init(&p->forward, run, plan, &run->shard->in));
  if (run->shard->directed) {
    TRY(late_rows_move(p, run, plan, &run->shard->out, &p->backward.waits));
    TRY(layouts_init(&p->backward, run, plan, &run->shard->out));
  }
  TRY(memory_arrays("layouts of levels", ROOM(&p->level, p->levels)));
  for (int i = 0; i < p->levels; i++) {
    p->level[i].forward.waits = p->level[i].backward.waits = 1;
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
  d->has_halo = arena_take(arena, adjacency_rows(d->adjacency));
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

/* Whether rows are summed in two parts, between which sums of reals need a place of their own. */
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

static int may_halve(const struct propagation *p, const struct run *run, const struct direction *d) {
  const struct spmm op = {.a = d->halo_part, .x = p->exchange.tail, .y = p->exchange.tail};
  return d->adjacency->halo.all_near && !p->attends.on && !p->reduces && !d->late_part &&
         (d->adjacency->halo.rows == 0 || spmm_divides(run->kernels, &op));
}

/* Rows of the halo land in the tail. All ranks take them in halves, or none does; late rows want all. Halves
 * cost a further exchange and kernels, which pays where a rank would wait. */
static int meet(struct propagation *p, struct run *run, struct direction *d) {
  const struct halo_landing out = {.data = p->exchange.tail.data}, back = {0};
  if (d->borrowed) return OK;
  TRY(halo_meet(&d->adjacency->halo, run->comm, run->kernels, &p->exchange.reach, out, back));
  int64_t may_not = !may_halve(p, run, d), waits = d->waits;
  TRY(comm_max_int64(run->comm, &may_not));
  TRY(comm_max_int64(run->comm, &waits));
  d->halves = !may_not && waits;
  if (run->comm->rank == 0 && d->halves && halo_first_half(p->exchange.tail) > 0)
    log_detail("halo: comes in two halves of its columns; the first is summed while the second travels");
  return OK;
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
                       adjacency_rows(d->adjacency));
}

int graph_sums_start(struct propagation *p, struct run *run) {
  TRY(comm_agree(run->comm, graph_scales_start(p, run)));
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
    layout_free(run->kernels, d->late_part);
    if (d->adjacency) halo_leave(&d->adjacency->halo);
  }
  free(p->level);
}

/* What happens between the begin of an exchange and the last of its rows; first_half: see halo_start. */
struct passing {
  propagation_part *part;
  propagation_late *late;
  void *context;
  int64_t first_half;
};

static int run_part(struct run *run, const struct direction *d, struct tensor x, int halo, int whole,
                    const struct passing *passing) {
  const char *names[] = {"own part", "halo part", "own part of a level", "halo part of a level"};
  return PROFILE(names[halo + 2 * !whole], passing->part(run, d, x, halo, passing->context));
}

static int run_late(struct run *run, const struct direction *d, struct tensor x, struct tensor tail,
                    enum spmm_phase phase, const struct passing *passing) {
  const char *name = phase == SPMM_AHEAD ? "late rows ahead" : "late rows";
  if (!d->late_part || (phase == SPMM_AHEAD && d->late_part->tiles == 0)) return OK;
  return PROFILE(name, passing->late(run, d, x, tail, phase, passing->context));
}

/* What tensor cores have summed of late rows stays in the workspace until these end: nothing else may need it
 * in between. */
static int pass_parts(struct propagation *p, struct run *run, const struct direction *d,
                      struct tensor message, const void *scale, const struct passing *passing) {
  struct halo *halo = &d->adjacency->halo;
  struct kernels *k = run->kernels;
  int exchange = run->comm->size > 1, overlap = run->config->runtime.overlap;
  int whole = d == &p->forward || d == &p->backward;
  struct tensor packed = tensor_packed(tensor_rows(p->exchange.packed, 0, halo_packed_rows(halo)),
                                       message.cols);
  struct tensor tail = halo_landed(halo, p->exchange.tail, message.cols);
  if (exchange) TRY(halo_start(halo, run->comm, k, message, scale, packed, tail, passing->first_half));
  if (exchange && !overlap) TRY(PROFILE("wait", halo_finish(halo, run->comm, k)));
  TRY(run_part(run, d, message, 0, whole, passing));
  TRY(run_late(run, d, message, tail, SPMM_AHEAD, passing));
  if (passing->first_half > 0) {
    TRY(PROFILE("wait", halo_finish_first_half(halo, k)));
    if (halo->rows > 0) TRY(run_part(run, d, tail, 1, whole, passing));
  }
  if (exchange && overlap) TRY(PROFILE("wait", halo_finish(halo, run->comm, k)));
  TRY(run_late(run, d, message, tail, SPMM_REST, passing));
  return halo->rows > 0 ? run_part(run, d, tail, 1, whole, passing) : OK;
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
  int64_t first_half, done; /* columns of the halo's half that comes first, of that which has been added */
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

static int multiply_part(struct run *run, const struct direction *d, struct tensor x, int halo,
                         void *context) {
  struct product *product = context;
  int several = run->comm->size > 1;
  struct spmm op = product_of(product, d, halo ? d->halo_part : d->own_part, x);
  if (op.a->csr->rows == 0) return OK;
  if (several && op.y.dtype != run->kernels->real)
    op.sums = tensor_rows(tensor_narrowed(product->p->sums, op.y.cols), 0, op.y.rows);
  op.accumulate = halo;
  if (!halo) {
    add_own(product, d, &op);
    op.has_halo = several ? d->has_halo : NULL;
  } else if (product->first_half > 0) {
    op.first = product->done;
    op.end = product->done = product->done > 0 ? x.cols : product->first_half;
  }
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

/* The second half of the halo comes while the first is added; where rows end with what sees whole rows they
 * come at once. */
static int64_t first_half_of(const struct run *run, const struct direction *d, struct tensor x,
                             const struct propagate_ends *ends) {
  const struct epilogue *epilogue = ends->epilogue;
  if (!d->halves || !run->config->runtime.overlap) return 0;
  return epilogue && (epilogue->norm != NORM_NONE || epilogue->loss) ? 0 : halo_first_half(x);
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
  struct product product = {.p = p, .ends = &along, .y = y, .first_half = first_half_of(run, d, x, ends)};
  const struct passing passing = {multiply_part, multiply_late, &product, product.first_half};
  TRY(bring_beside_tail(p, run, d, &along, &x));
  return pass_parts(p, run, d, x, scale_of(d, &along), &passing);
}

const struct propagation_ops graph_propagation = {.init = graph_sums_init,
                                                  .plan = graph_sums_plan,
                                                  .start = graph_sums_start,
                                                  .workspace = graph_sums_workspace,
                                                  .free = graph_sums_free,
                                                  .multiply = graph_sums_multiply};
