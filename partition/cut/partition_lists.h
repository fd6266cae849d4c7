/* partition_lists: what a partition has of every node, divided among the ranks: owners by blocks of nodes,
 * the order by places. They come from rank 0 and from its file, and go into it; it holds those of one rank at
 * a time. */
#ifndef PARTITION_CUT_PARTITION_LISTS_H
#define PARTITION_CUT_PARTITION_LISTS_H

#include "io/file/h5.h"
#include "partition/graph/partition.h"

/* Collective. partition->part of this rank's block, from all owners, all[nodes], which rank 0 has. */
int partition_lists_deal(struct comm *comm, const int32_t *all, struct partition *partition);

/* Rank 0's: the next `count` entries of a list into `to`. */
typedef int partition_reader(void *context, int64_t count, void *to);

/* Collective. part of this rank's block of so many nodes. Rank 0 reads the blocks one after the other, so it
 * holds one beside its own. Errors: the reader's. */
int partition_lists_fetch(struct comm *comm, int64_t nodes, partition_reader *read, void *context,
                          int32_t *part);

/* Collective. *usable, on all ranks: whether rank 0's code is OK. It keeps its error, others' codes are not
 * looked at. */
int partition_lists_agree(struct comm *comm, int code, int *usable);

/* Collective. Reads /part of rank 0's file (elsewhere h5 is not looked at), and counts partition->offset;
 * reads /order, for which partition->order is made. *usable, the same on all ranks: whether they could be
 * read, whether each node lies in one of the parts, and whether the order lists each once, in its part; if
 * not rank 0 has the error. */
int partition_lists_read_owners(struct comm *comm, struct h5 *h5, struct partition *partition, int *usable);
int partition_lists_read_order(struct comm *comm, struct h5 *h5, struct partition *partition, int *usable);

/* Collective. Writes both to rank 0's file; NULL there: nowhere. *written: on rank 0 how that went, elsewhere
 * OK. */
int partition_lists_write(struct comm *comm, struct h5 *h5, const struct partition *partition, int *written);

#endif
