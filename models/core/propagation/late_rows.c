#include "models/core/propagation/late_rows.h"

#include <assert.h>
#include <math.h>

#include "kernels/format/condensed.h"
#include "kernels/format/tiles.h"
#include "models/core/propagation/forecast.h"
#include "runtime/base/base.h"

/* What late rows have to save of the sums over own columns. */
static const double LEAST_GAIN = .01;

/* Bytes of X up to which an H200's second-level cache, of 50 MB, serves a gather. Of a row that reads all of
 * it, or a panel of a wider one (kernels/cuda/spmm/spmm_variant.cuh). */
enum { CACHE = 40 << 20, WHOLE_ROW = 192, PANEL = 128 };

/* The first row behind a share of the entries, at a window's begin. */
static int64_t row_behind(const struct csr *m, double share) {
  if (share >= 1) return m->rows;
  const int64_t entry = llround(fmax(share, 0) * (double)m->nnz);
  if (entry == 0) return 0;
  const int64_t row = csr_row_of(m->start, 0, m->rows, smaller(entry, m->nnz - 1));
  return smaller((row + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS, m->rows);
}

/* Seconds that the rows from `first` on save: sums that are neither written nor read; and kernels, where they
 * are all, or else less one more. */
static double gain(const struct propagation *p, const struct run *run, const struct adjacency *adjacency,
                   const struct forecast *own, int64_t first) {
  const struct csr *halo = adjacency->halo_part;
  int64_t early = 0;
  while (early < halo->rows && halo->row[early] < first) early++;
  const double saved = forecast_sums(p, run, own, halo->rows - early, adjacency_rows(adjacency));
  if (first > 0) return saved - forecast_kernel(own);
  const int adds_twice = forecast_cuts(run, &adjacency->own_part, own->product.width) &&
                         forecast_cuts(run, halo, own->product.width);
  return saved + forecast_kernel(own) + adds_twice * forecast_pieces(own);
}

/* Whether rows of both matrices, as one gather reads them, fit no cache, while those of each would. */
static int leaves_cache(const struct propagation *p, const struct run *run, const struct adjacency *adjacency,
                        int64_t width) {
  const int64_t row = forecast_row_bytes(run, width), pass = row <= WHOLE_ROW || p->attends.on ? row : PANEL,
                own = pass * adjacency->own_part.cols, halo = pass * adjacency->halo.rows;
  return larger(own, halo) <= CACHE && own + halo > CACHE;
}

/* By constants: *first is the first late row, behind the last one where none is late. Where sums over own
 * columns end before the halo is there, none is, for these sums delay nothing. Where there are tiles, all
 * rows are late or none; late, only the tiles are multiplied during the exchange. */
static int foresee(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                   const struct adjacency *adjacency, int64_t *first) {
  const struct csr *own = &adjacency->own_part;
  struct forecast predicted;
  struct window_choice windows = {0}; /* late rows have none */
  TRY(forecast_product(p, run, own, plan, &predicted));
  if (plan->tiers == LAYOUT_AUTO && !p->attends.on)
    TRY(condensed_foresee(own, &predicted.product, &predicted.choice, run->device->threads, &windows));
  const struct choice *choice = &predicted.choice;
  const double gathers = choice->seconds - choice->tile_seconds, least = LEAST_GAIN * choice->seconds,
               tiles = choice->tile_seconds * cost_tile_waves(&predicted.product, own->rows),
               hides = forecast_hiding(run, &adjacency->halo, plan->width);
  if (hides > tiles + gathers || windows.windows > 0 || leaves_cache(p, run, adjacency, plan->width))
    return OK;
  if (choice->tiles > 0 && p->attends.on) return OK;
  const int64_t late = choice->tiles > 0 ? 0 : row_behind(own, hides / gathers);
  const double launch = 1e-12 * predicted.product.model->start.launch,
               unhidden = late > 0 ? 0 : fmax(hides - launch - tiles, 0);
  if (gain(p, run, adjacency, &predicted, late) - unhidden >= least) *first = late;
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
         adjacency->late_part.rows == 0 && adjacency->halo_part->rows > 0 && plan->width > 0;
}

int late_rows_move(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                   struct adjacency *adjacency) {
  const double share = run->config->runtime.late_rows;
  int64_t first = adjacency->own_part.rows;
  assert(adjacency->late_part.rows == 0 || !p->reduces);
  if (!is_of_use(p, run, plan, adjacency)) return OK;
  if (share >= 0)
    first = row_behind(&adjacency->own_part, 1 - share);
  else if (!run->device->ops->on_host)
    TRY(foresee(p, run, plan, adjacency, &first));
  if (first == adjacency->own_part.rows) return OK;
  if (run->comm->rank == 0)
    log_detail("late rows: on rank 0 %.1f%% of the rows are summed when the halo is there",
               100 * (1 - (double)first / (double)adjacency->own_part.rows));
  return adjacency_delay(adjacency, first);
}
