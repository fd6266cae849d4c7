/* scotch: the one place that speaks to PT-Scotch (Chevalier and Pellegrini, Parallel Computing 34, 2008),
 * which divides a graph that lies on all ranks: a yardstick for what multilevel_partition does with the same
 * rows. */
#ifndef PARTITION_MULTILEVEL_SCOTCH_H
#define PARTITION_MULTILEVEL_SCOTCH_H

#include "partition/multilevel/multilevel.h"

/* Whether this build can divide a graph of so many arcs by PT-Scotch. Errors: BAD_INPUT: it was built
 * without, or its numbers are too short. */
int scotch_takes(int64_t arcs);

/* Collective; as multilevel_partition, but the parts depend on the number of ranks. It cuts few arcs; a node
 * weighs as much as its non-zeros and the mean of all nodes'. Nobody watches the ranks meanwhile. */
int scotch_partition(struct progress *progress, const struct multilevel_input *input, int32_t *part);

#endif
