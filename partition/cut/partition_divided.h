/* partition_steps: what the partitions of graphs and of hypergraphs share. */
#ifndef PARTITION_CUT_PARTITION_STEPS_H
#define PARTITION_CUT_PARTITION_STEPS_H

#include "partition/graph/partition.h"

/* Owners of all nodes: blocks of consecutive ids, as equal as can be; the same blocks of a random
 * permutation. */
void partition_assign_blocks(struct partition *partition);
void partition_assign_random(struct partition *partition, int64_t seed);

/* Whether the parts are the blocks of rows that the ranks hold, in the order given. */
int partition_is_divided(const struct comm *comm, const struct config *config, const struct graph *block,
                         int parts);
/* Collective. That partition: each rank measures its own part. */
int partition_divided(struct comm *comm, const struct graph *block, struct partition *partition);

/* Collective. What rank 0 has becomes every rank's. */
int partition_share(struct comm *comm, int parts, int64_t nodes, struct partition *partition);

#endif
