/* grid_sums: P of a graph in a grid of several columns (partition/graph/grid.h). Own rows are cut into slices
 * of their columns, which go to the ranks of the row of the grid; each of these multiplies its slice of all
 * rows by the part of the graph that they share, with a halo among the ranks of its column; and the slices of
 * the sums come back to the rows' owners, where the rows end as anywhere else. */
#ifndef MODELS_CORE_GRID_SUMS_H
#define MODELS_CORE_GRID_SUMS_H

#include "models/core/propagation.h"

/* What propagate.h does there. */
extern const struct propagation_ops grid_propagation;

#endif
