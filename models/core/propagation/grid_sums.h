/* grid_sums: P of a graph in a grid of several columns (partition/graph/grid.h). The columns of own
 * rows are cut into slices, one for each rank that shares this part of the graph. A rank gathers its slice of
 * all rows of the part, multiplies it by the part's adjacency, with a halo from the other parts in the same
 * slice, and sends the sums back to the owners of the rows, which then end as anywhere else. */
#ifndef MODELS_CORE_PROPAGATION_GRID_SUMS_H
#define MODELS_CORE_PROPAGATION_GRID_SUMS_H

#include "models/core/propagation/propagation.h"

/* What propagate.h does there. */
extern const struct propagation_ops grid_propagation;

#endif
