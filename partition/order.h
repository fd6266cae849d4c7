/* order: the order of nodes inside each shard. Neighbours that lie near each other share cache lines of the
 * feature matrix; the result is the same in any order up to rounding. */
#ifndef PARTITION_ORDER_H
#define PARTITION_ORDER_H

#include "partition/metis.h"
#include "partition/partition.h"

/* Nodes in a cluster of order "metis": their features at 128 columns fill 256 KiB of cache. */
enum { ORDER_CLUSTER = 512 };

/* Fills partition->order from part and offset. given: ascending ids; degree: descending row length (nnz[v]),
 * ties by id; metis: clusters that METIS finds inside the shard, in the order of their numbers, ascending
 * ids in each. pattern: symmetric, without loops; only order "metis" reads it. */
int order_nodes(struct metis_watch *watch, const struct csr *pattern, const int64_t *nnz,
                enum node_order order, int64_t seed, struct partition *partition);

#endif
