#include "models/core/propagation/halo_stages.h"

#include <math.h>

#include "models/core/propagation/forecast.h"
#include "runtime/base/base.h"

/* What two stages have to save of a product, and seconds that the second one costs beside what is predicted:
 * streams that wait for each other, and gathers that are short. */
static const double LEAST_GAIN = .02, SECOND_STAGE = 20e-6;

/* A product of one rank, seconds. */
struct times {
  double once, staged;
};

/* The share of the halo's rows that the first stage brings, were there two. */
static double first_share(const struct run *run, const struct halo *halo) {
  const int cols = run->directory->grid.cols;
  const struct halo_stage first = halo_first_stage(halo, run->comm->rank, run->comm->size, cols);
  return (double)first.came.count / (double)halo->rows;
}

/* Own columns, then those of the halo as soon as they are there. Each part may cut rows in pieces. A rank
 * without a halo waits for none. */
static int foresee(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                   const struct adjacency *adjacency, struct times *times) {
  const struct csr *halo = adjacency->halo_part;
  struct forecast own, far;
  if (halo->rows == 0 || plan->width == 0) return OK;
  TRY(forecast_product(p, run, &adjacency->own_part, plan, &own));
  TRY(forecast_product(p, run, halo, plan, &far));
  const double arrives = forecast_hiding(run, &adjacency->halo, plan->width),
               share = first_share(run, &adjacency->halo), gather = far.choice.seconds,
               pieces = forecast_cuts(run, halo, plan->width) * forecast_pieces(&far),
               sums = forecast_sums(p, run, &far, halo->rows, adjacency_rows(adjacency)),
               first = fmax(own.choice.seconds, share * arrives) + share * gather + sums / 2 + pieces +
                       forecast_kernel(&far) + SECOND_STAGE;
  times->once = fmax(own.choice.seconds, arrives) + gather + pieces;
  times->staged = fmax(first, arrives) + (1 - share) * gather + sums / 2 + pieces;
  return OK;
}

/* Late rows want all of the halo, and hosts hand on what has come at once. Attention keeps more between two
 * parts than it wins among four ranks; of reductions nothing is predicted. */
static int is_of_use(const struct propagation *p, const struct run *run, const struct adjacency *adjacency) {
  return run->directory->grid.rows > 2 && run->config->runtime.halo_stages != 1 && !p->reduces &&
         !p->attends.on && !adjacency->halo.relay && adjacency->halo.stages == 1 &&
         adjacency->late_part.rows == 0;
}

/* All ranks alike. */
static int choose_stages(const struct propagation *p, struct run *run, const struct layout_plan *plan,
                         const struct adjacency *adjacency, int *staged) {
  const int asked = run->config->runtime.halo_stages == HALO_STAGES;
  int64_t may_not = !is_of_use(p, run, adjacency);
  struct times times = {0};
  *staged = 0;
  TRY(comm_max_int64(run->comm, &may_not));
  if (may_not || (!asked && run->device->ops->on_host)) return OK;
  if (!asked) TRY(comm_agree(run->comm, foresee(p, run, plan, adjacency, &times)));
  TRY(comm_max_double(run->comm, &times.once));
  TRY(comm_max_double(run->comm, &times.staged));
  *staged = asked || times.staged < (1 - LEAST_GAIN) * times.once;
  return OK;
}

int halo_stages_choose(const struct propagation *p, struct run *run, const struct layout_plan *plan,
                       struct adjacency *adjacency) {
  int staged = 0;
  TRY(choose_stages(p, run, plan, adjacency, &staged));
  if (!staged) return OK;
  halo_divide(&adjacency->halo, run->comm->rank, run->comm->size, run->directory->grid.cols);
  return comm_agree(run->comm, adjacency_divide_halo(adjacency));
}
