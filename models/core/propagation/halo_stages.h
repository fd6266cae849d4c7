/* halo_stages: whether the halo of a product comes in two stages.
 *
 * Where the halo arrives later than the sums over own columns end, the rows of the first stage are summed
 * while those of the second one travel. Sums of reals are then written and read once more. */
#ifndef MODELS_CORE_PROPAGATION_HALO_STAGES_H
#define MODELS_CORE_PROPAGATION_HALO_STAGES_H

#include "models/core/propagation/propagation.h"

/* Collective. Divides the halo of a direction and its columns, by runtime.halo_stages or where the slowest
 * rank is foreseen to gain by it (forecast.h). plan: that of the layouts. Behind late_rows_move; does nothing
 * where it has been divided, or `p` has no use for it. Errors: FAILED when memory is short. */
int halo_stages_choose(const struct propagation *p, struct run *run, const struct layout_plan *plan,
                       struct adjacency *adjacency);

#endif
