#include "models/core/propagation/hyper_product.h"

#include "partition/halo/halo_exchange.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* One product: where its parts lie. */
struct product {
  struct propagation *p;
  struct run *run;
  const struct direction *d;
  const void *scale; /* of x's rows, NULL: 1 */
  struct tensor x, y;
  const struct epilogue *epilogue;
  struct tensor outer, edges, arrivals; /* outer = all edges, then arrivals; edges: the first ones */
  struct tensor edge_sums;              /* real: where edges are added up; edges themselves where these are */
  struct tensor sums;                   /* of rows of y, data NULL: y itself */
  struct halo *sends, *returns;         /* plans of rows as they are, and of sums for foreign ones */
  struct tensor away, back, packed;
  const void *outer_scale; /* t of outer hyperedges, then of arrivals */
};

static struct tensor first_rows(struct tensor t, int64_t rows, int64_t cols) {
  return tensor_narrowed(tensor_rows(t, 0, rows), cols);
}

/* Foreign vertices come by the incidences that lead there, and sums for them go back by the others; where
 * hyperedges travel it is the other way round. */
static void plan_travel(struct product *t, const struct hyper_sums *s) {
  const int vertices = s->hyper->travel == TRAVEL_VERTICES;
  struct hyper_part *there = t->d->way.there->part, *back = t->d->way.back->part;
  t->sends = vertices ? &there->halo : &back->halo;
  t->returns = vertices ? &back->halo : &there->halo;
  t->away = first_rows(s->away, vertices ? t->sends->rows : t->returns->send_rows, t->y.cols);
  t->back = first_rows(s->back, t->returns->rows, t->y.cols);
  t->packed = first_rows(s->packed, t->sends->send_rows, t->y.cols);
}

static struct product product_of(struct propagation *p, struct run *run, const struct direction *d,
                                 struct tensor x, const struct propagate_ends *ends, struct tensor y) {
  const struct hyper_sums *s = &p->hyper;
  const struct hyper *h = s->hyper;
  const struct hyper_part *there = d->way.there->part, *back = d->way.back->part;
  const int64_t arrivals = hyper_arrivals(h->travel, back);
  enum dtype type = run->kernels->real;
  struct product t = {.p = p,
                      .run = run,
                      .d = d,
                      .scale = ends->message ? NULL : d->col_scale,
                      .x = x,
                      .y = y,
                      .epilogue = ends->epilogue,
                      .outer = first_rows(s->outer, h->outer + arrivals, y.cols),
                      .sums = y.dtype == type ? (struct tensor){0} : first_rows(p->sums, y.rows, y.cols),
                      .outer_scale = (const char *)s->edge_scale + h->inner * dtype_bytes(type)};
  t.edges = tensor_rows(t.outer, 0, there->outer);
  t.arrivals = tensor_rows(t.outer, h->outer, arrivals);
  t.edge_sums = t.outer.dtype == type ? t.edges : first_rows(s->outer_sums, there->outer, y.cols);
  plan_travel(&t, s);
  return t;
}

static int multiply(const struct product *t, const struct layout *a, struct tensor x, const void *col_scale,
                    struct tensor y) {
  struct spmm op = {.a = a, .x = x, .col_scale = col_scale, .y = y};
  return y.rows > 0 ? op_spmm(t->run->kernels, &op) : OK;
}

static int wait(const struct product *t, struct halo *halo) {
  return PROFILE("wait", halo_finish(halo, 0, t->run->comm, t->run->kernels));
}

/* Sums of hyperedges beyond the level of a product are not made: 0 where they are kept. */
static int clear_kept(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  const struct hyper *h = s->hyper;
  const struct hyper_part *there = t->d->way.there->part;
  const struct tensor inner = tensor_rows(s->kept, there->inner, h->inner - there->inner),
                      outer = tensor_rows(s->kept, h->inner + there->outer, h->outer - there->outer);
  TRY(device_clear(t->run->device, STREAM_COMPUTE, inner.data, tensor_bytes(inner)));
  return device_clear(t->run->device, STREAM_COMPUTE, outer.data, tensor_bytes(outer));
}

static int sum_inner(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  const struct hyper_way *way = &t->d->way;
  struct incidence_sum op = {.a = &way->inner,
                             .x = t->x,
                             .col_scale = t->scale,
                             .edge_scale = s->edge_scale,
                             .self_scale = t->p->self,
                             .row_scale = t->d->row_scale,
                             .has_halo = t->run->comm->size > 1 ? way->back->has_halo : NULL,
                             .epilogue = t->epilogue,
                             .sums = t->sums,
                             .y = t->y};
  if (s->kept.data) op.kept = tensor_rows(s->kept, 0, way->there->part->inner);
  if (s->kept.data && way->there != &s->all) TRY(clear_kept(t));
  return PROFILE("own part", op_incidence_sum(t->run->kernels, &op));
}

/* Sums of outer hyperedges over own vertices. */
static int sum_outer(const struct product *t) {
  return PROFILE("own part", multiply(t, t->d->way.there->outer_own, t->x, t->scale, t->edge_sums));
}

/* And over the others; then they are complete. */
static int complete_outer(const struct product *t) {
  const struct hyper_sums *s = &t->p->hyper;
  struct spmm op = {.a = t->d->way.there->outer_away, .x = t->away, .accumulate = 1, .y = t->edges};
  if (t->edges.dtype != t->edge_sums.dtype) op.sums = t->edge_sums;
  if (t->edges.rows == 0) return OK;
  TRY(PROFILE("halo part", op_spmm(t->run->kernels, &op)));
  if (!s->kept.data) return OK;
  struct tensor kept = tensor_rows(s->kept, s->hyper->inner, t->edges.rows);
  return device_copy(t->run->device, STREAM_COMPUTE, kept.data, t->edges.data, tensor_bytes(t->edges));
}

static int send_back(const struct product *t) {
  struct run *run = t->run;
  TRY(halo_return_start(t->returns, run->comm, run->kernels, t->back,
                        t->p->hyper.hyper->travel == TRAVEL_VERTICES ? t->arrivals : t->away));
  return run->config->runtime.overlap ? OK : wait(t, t->returns);
}

static int send(const struct product *t, struct tensor rows, const void *scale, struct tensor to) {
  struct run *run = t->run;
  TRY(halo_start(t->sends, run->comm, run->kernels, rows, scale, t->packed, to));
  return run->config->runtime.overlap ? OK : wait(t, t->sends);
}

/* While waiting costs nothing where the wait came before. */
static int wait_late(const struct product *t, struct halo *halo) {
  return t->run->config->runtime.overlap ? wait(t, halo) : OK;
}

/* Foreign vertices come, sums for them go back. */
static int travel_vertices(const struct product *t) {
  TRY(send(t, t->x, t->scale, t->away));
  TRY(sum_outer(t));
  TRY(wait_late(t, t->sends));
  TRY(complete_outer(t));
  TRY(PROFILE("halo part", multiply(t, t->d->way.back->partial, t->edges, t->outer_scale, t->back)));
  TRY(send_back(t));
  TRY(sum_inner(t));
  return wait_late(t, t->returns);
}

/* Sums for foreign hyperedges go, the finished rows come. */
static int travel_hyperedges(const struct product *t) {
  TRY(PROFILE("own part", multiply(t, t->d->way.there->partial, t->x, t->scale, t->back)));
  TRY(send_back(t));
  TRY(sum_outer(t));
  TRY(sum_inner(t));
  TRY(wait_late(t, t->returns));
  TRY(complete_outer(t));
  TRY(send(t, t->edges, t->outer_scale, t->arrivals));
  return wait_late(t, t->sends);
}

static int sum_rest(const struct product *t) {
  struct spmm op = {.a = t->d->way.back->rest,
                    .x = t->outer,
                    .col_scale = t->outer_scale,
                    .row_scale = t->d->row_scale,
                    .accumulate = 1,
                    .epilogue = t->epilogue,
                    .sums = t->sums,
                    .y = t->y};
  return PROFILE("halo part", op_spmm(t->run->kernels, &op));
}

int hyper_sums_multiply(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                        const struct propagate_ends *ends, struct tensor y) {
  struct product t = product_of(p, run, d, x, ends, y);
  if (run->comm->size == 1) return sum_inner(&t);
  TRY(p->hyper.hyper->travel == TRAVEL_VERTICES ? travel_vertices(&t) : travel_hyperedges(&t));
  return d->way.back->part->rest.rows > 0 ? sum_rest(&t) : OK;
}
