/* partition_work: how evenly the parts share what an epoch computes. */
#ifndef PARTITION_CUT_PARTITION_WORK_H
#define PARTITION_CUT_PARTITION_WORK_H

#include "partition/graph/partition.h"

/* Collective. Fills work_balance: of what the rows of each part are worth in an epoch, the largest over the
 * mean. block: this rank's rows of the graph, or hyperedges of a star. */
int partition_measure_work(struct comm *comm, const struct graph *block, const struct row_work *work,
                           struct partition *partition);

#endif
