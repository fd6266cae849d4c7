/* partition_divided: a partition into the blocks of consecutive nodes that the ranks have read, in the order
 * given: every rank measures its own, and none reads the whole graph. */
#ifndef PARTITION_CUT_PARTITION_DIVIDED_H
#define PARTITION_CUT_PARTITION_DIVIDED_H

#include "partition/graph/partition.h"

/* Whether the parts are the blocks of rows that the ranks hold, in the order given. */
int partition_is_divided(const struct comm *comm, const struct config *config, const struct graph *block,
                         int parts);
/* Collective. That partition. */
int partition_divided(struct comm *comm, const struct graph *block, struct partition *partition);

#endif
