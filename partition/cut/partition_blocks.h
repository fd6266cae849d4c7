/* partition_blocks: parts that are the blocks of rows which the ranks hold, in the order given. Every rank
 * measures its own, and none reads the whole graph. */
#ifndef PARTITION_CUT_PARTITION_BLOCKS_H
#define PARTITION_CUT_PARTITION_BLOCKS_H

#include "partition/graph/partition.h"

/* Whether that is what the settings ask for, and what the block (or NULL) allows. */
int partition_is_blocks(const struct comm *comm, const struct config *config, const struct graph *block,
                        int parts);

/* Collective. */
int partition_make_blocks(struct comm *comm, const struct graph *block, struct partition *partition);

#endif
