/* late_rows: how many rows of a product wait for the halo.
 *
 * Rows of a rank are summed in one of two ways. Own columns first, while the halo is under way, and its
 * columns once they have landed: the exchange is hidden, and a sum of reals is written and read in between.
 * Or whole, once the halo is there: such rows are late. Rows enough to hide the exchange go the first way,
 * the last ones are late. What tensor cores multiply of late rows is computed meanwhile, too. */
#ifndef MODELS_CORE_PROPAGATION_LATE_ROWS_H
#define MODELS_CORE_PROPAGATION_LATE_ROWS_H

#include "models/core/propagation/propagation.h"

/* Moves the late rows of a direction to its late part, by runtime.late_rows or by what is foreseen
 * (forecast.h). plan: that of the layouts. Does nothing where they have been moved, or `p` has no use for
 * them. Errors: FAILED when memory is short. */
int late_rows_move(const struct propagation *p, const struct run *run, const struct layout_plan *plan,
                   struct adjacency *adjacency);

#endif
