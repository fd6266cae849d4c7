#include "models/core/late_rows.h"

#include <assert.h>
#include <math.h>

#include "kernels/cost/cost_attention.h"
#include "kernels/cost/cost_models.h"
#include "kernels/format/condensed.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "partition/graph/grid_cost.h"
#include "runtime/base/base.h"

/* What late rows have to save of the sums over own columns. */
static const double LEAST_GAIN = .01;

enum { SAMPLES = 16, SAMPLE = 1 << 17 /* entries of each that are looked at */ };

/* Bytes of X up to which an H200's second-level cache, of 50 MB, serves a gather. Of a row that reads all of
 * it, or a panel of a wider one (kernels/cuda/spmm/spmm_variant.cuh). */
enum { CACHE = 40 << 20, WHOLE_ROW = 192, PANEL = 128 };

/* A product with own columns, as it is predicted; of attention by that model. */
struct own_product {
  struct cost_model attention;
  struct cost_case product;
  struct choice choice;
};

/* The density of m, taken from that of a few of its rows. */
static int sample_density(const struct csr *m, int threads, struct density *density) {
  const int64_t rows = larger(m->rows / SAMPLES / TILE_ROWS * TILE_ROWS, 1);
  const int64_t wanted = larger((int64_t)SAMPLE * m->rows / larger(m->nnz, 1) / TILE_ROWS, 1) * TILE_ROWS;
  double looked_at = 0;
  *density = (struct density){.rows = m->rows, .cols = m->cols};
  for (int64_t first = 0; first < m->rows; first += rows) {
    const int64_t end = smaller(first + smaller(rows, wanted), m->rows);
    const struct csr part = {
        .rows = end - first, .cols = m->cols, .start = m->start + first, .col = m->col, .near = m->near};
    struct density here;
    TRY(tiles_density(&part, threads, &here));
    density_add(density, &here);
    looked_at += (double)(m->start[end] - m->start[first]);
  }
  const double times = looked_at > 0 ? (double)m->nnz / looked_at : 0;
  for (int b = 0; b < DENSITY_BINS; b++) {
    density->cells[b] = llround(times * (double)density->cells[b]);
    density->arcs[b] = llround(times * (double)density->arcs[b]);
    density->windows[b] = llround(times * (double)density->windows[b]);
  }
  return OK;
}

static int predict(const struct propagation *p, const struct run *run, const struct csr *own,
                   const struct layout_plan *plan, struct own_product *predicted) {
  const int threads = run->device->threads;
  struct density density;
  predicted->product = (struct cost_case){.model = cost_model_of(run->device->name),
                                          .precision = run->config->runtime.precision,
                                          .width = plan->width,
                                          .weighted = own->weight != NULL};
  if (p->attends.on) {
    predicted->attention = cost_attention(predicted->product.model, larger(plan->scores.heads, 1));
    predicted->product.model = &predicted->attention;
  }
  TRY(sample_density(own, threads, &density));
  const struct cost_case *c = &predicted->product;
  predicted->choice = plan->tiers == LAYOUT_AUTO    ? choose(c, &density)
                      : plan->tiers == LAYOUT_TILES ? cost_divided(c, &density, cost_tile_least(c, own->cols))
                                                    : cost_divided(c, &density, TILE_CELLS + 1);
  return OK;
}

/* Bytes of a row of X without gaps. */
static int64_t row_bytes(const struct run *run, int64_t width) {
  return tensor_bytes(tensor_packed((struct tensor){.dtype = run->kernels->dtype, .rows = 1}, width));
}

/* Of one exchange, rows of so many bytes. */
static double exchange_seconds(const struct network *network, int rank, const struct halo *halo,
                               int64_t row) {
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    halo->send[p] = (struct message){peer->rank, NULL, row * peer->sent.count};
    halo->recv[p] = (struct message){peer->rank, NULL, row * peer->came.count};
  }
  return network_exchange_seconds(network, rank, halo->send, halo->peers, halo->recv, halo->peers);
}

/* Of computing that hides an exchange: meanwhile it has less of the device. */
static double hiding_seconds(const struct run *run, const struct halo *halo, int64_t width) {
  struct network network = grid_cost_network(cost_model_of(run->device->name), run->comm->local_size);
  const struct halo_relay *relay = halo->relay;
  const int64_t row = row_bytes(run, width);
  const int rank = run->comm->rank;
  if (network.stored.byte > 0) network.within = network.stored; /* by messages the same rows are late */
  const double seconds = relay ? exchange_seconds(&network, rank, &relay->first, row) +
                                     exchange_seconds(&network, rank, &relay->second, row)
                               : exchange_seconds(&network, rank, halo, row);
  return (1 - network.beside) * seconds;
}

/* The first row behind a share of the entries, at a window's begin. */
static int64_t row_behind(const struct csr *m, double share) {
  if (share >= 1) return m->rows;
  const int64_t entry = llround(fmax(share, 0) * (double)m->nnz);
  if (entry == 0) return 0;
  const int64_t row = csr_row_of(m->start, 0, m->rows, smaller(entry, m->nnz - 1));
  return smaller((row + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS, m->rows);
}

/* Reals of a row between two parts, over its width: attention keeps y and positive there, then dx. */
static const double SUMS_OF_ATTENTION = 1.5;

/* Whether rows of m are cut into pieces, which a kernel of its own adds up. */
static int is_cut(const struct run *run, const struct csr *m, int64_t width) {
  const struct row_segments_plan cuts = {.row_bytes = width * dtype_bytes(run->kernels->dtype)};
  return row_segments_foresee(m, &cuts).cut != 0;
}

/* Seconds that the rows from `first` on save: sums that are neither written nor read, which costs little
 * where they stay in the caches; and kernels, where they are all, or else less one more. */
static double gain(const struct propagation *p, const struct run *run, const struct adjacency *adjacency,
                   const struct own_product *own, int64_t first) {
  const struct cost_model *model = own->product.model;
  const struct csr *halo = &adjacency->halo_part;
  const double row = (p->attends.on ? SUMS_OF_ATTENTION : 1) * (double)own->product.width *
                     (double)dtype_bytes(run->kernels->real),
               sums = row * (double)adjacency_rows(adjacency),
               beyond = log(sums / model->cached_bytes) / log(model->distant_bytes / model->cached_bytes);
  int64_t early = 0;
  while (early < halo->rows && halo->row[early] < first) early++;
  const double saved = (double)(halo->rows - early) * 2 * row * model->pass.byte * fmin(fmax(beyond, 0), 1);
  const double kernel = model->start.launch + model->start.kernel;
  if (first > 0) return 1e-12 * (saved - kernel);
  const int adds_twice = is_cut(run, &adjacency->own_part, own->product.width) &&
                         is_cut(run, halo, own->product.width);
  return 1e-12 * (saved + kernel + adds_twice * model->start.pieces);
}

/* Whether rows of both matrices, as one gather reads them, fit no cache, while those of each would. */
static int leaves_cache(const struct propagation *p, const struct run *run, const struct adjacency *adjacency,
                        int64_t width) {
  const int64_t row = row_bytes(run, width), pass = row <= WHOLE_ROW || p->attends.on ? row : PANEL,
                own = pass * adjacency->own_part.cols, halo = pass * adjacency->halo.rows;
  return larger(own, halo) <= CACHE && own + halo > CACHE;
}

/* What constants have of a product: the first late row, all rows where none is late; and whether sums over
 * own columns, if none is, end before the halo is there. */
struct foreseen {
  int64_t first;
  int waits;
};

/* Where sums over own columns end before the halo is there no row is late, for these sums delay nothing.
 * Where there are tiles, all rows are late or none; late, only the tiles are multiplied during the exchange.
 */
static int foresee(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                   const struct adjacency *adjacency, struct foreseen *foreseen) {
  const struct csr *own = &adjacency->own_part;
  struct own_product predicted;
  struct window_choice windows = {0}; /* late rows have none */
  TRY(predict(p, run, own, plan, &predicted));
  if (plan->tiers == LAYOUT_AUTO && !p->attends.on)
    TRY(condensed_foresee(own, &predicted.product, &predicted.choice, run->device->threads, &windows));
  const struct choice *choice = &predicted.choice;
  const double gathers = choice->seconds - choice->tile_seconds, least = LEAST_GAIN * choice->seconds,
               tiles = choice->tile_seconds * cost_tile_waves(&predicted.product, own->rows),
               hides = hiding_seconds(run, &adjacency->halo, plan->width);
  *foreseen = (struct foreseen){own->rows, hides > tiles + gathers};
  if (foreseen->waits || windows.windows > 0 || leaves_cache(p, run, adjacency, plan->width)) return OK;
  if (choice->tiles > 0 && p->attends.on) return OK;
  const int64_t late = choice->tiles > 0 ? 0 : row_behind(own, hides / gathers);
  const double launch = 1e-12 * predicted.product.model->start.launch,
               unhidden = late > 0 ? 0 : fmax(hides - launch - tiles, 0);
  if (gain(p, run, adjacency, &predicted, late) - unhidden >= least) foreseen->first = late;
  return OK;
}

/* Tiles and the gather alone go by both matrices' rows, of attention the gather by terms. Levels borrow rows
 * of the whole. */
static int is_of_use(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                     const struct adjacency *adjacency) {
  const int tiers = plan->tiers == LAYOUT_AUTO || plan->tiers == LAYOUT_TILES ||
                    plan->tiers == LAYOUT_TILES_ALL || plan->tiers == LAYOUT_GATHER ||
                    plan->tiers == LAYOUT_GATHER_IN_ORDER;
  return tiers && (!p->attends.on || p->attends.by_terms) && !p->reduces && run->shard->levels.count == 0 &&
         adjacency->late_part.rows == 0 && adjacency->halo_part.rows > 0 && plan->width > 0;
}

/* Where nothing is foreseen, *waits is 1: halves of the halo are never wrong, only slower at times. */
int late_rows_move(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                   struct adjacency *adjacency, int *waits) {
  const double share = run->config->runtime.late_rows;
  struct foreseen foreseen = {.first = adjacency->own_part.rows, .waits = 1};
  assert(adjacency->late_part.rows == 0 || !p->reduces);
  *waits = foreseen.waits;
  if (!is_of_use(p, run, plan, adjacency)) return OK;
  if (!run->device->ops->on_host) TRY(foresee(p, run, plan, adjacency, &foreseen));
  *waits = foreseen.waits;
  const int64_t first = share >= 0 ? row_behind(&adjacency->own_part, 1 - share) : foreseen.first;
  if (first == adjacency->own_part.rows) return OK;
  if (run->comm->rank == 0)
    log_detail("late rows: on rank 0 %.1f%% of the rows are summed when the halo is there",
               100 * (1 - (double)first / (double)adjacency->own_part.rows));
  return adjacency_delay(adjacency, first);
}
