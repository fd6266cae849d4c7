/* order: the order of nodes inside each shard. Neighbours that lie near each other share cache lines of the
 * feature matrix, and where many do, arcs fill dense tiles; the result is the same in any order up to
 * rounding. Every order is the same for any number of threads and of ranks. */
#ifndef PARTITION_ORDER_ORDER_H
#define PARTITION_ORDER_ORDER_H

#include "partition/order/order_kinds.h"

/* Collective. Fills partition->order from part and offset, of the rows and shards of the input.
 * given: ascending ids.
 * degree: descending row length, ties by id.
 * metis: clusters of 512 nodes that METIS finds in the shard, ascending ids in each.
 * cluster: communities (partition/order/cluster.h), nested, the densest first, descending row length in each;
 * the size of these last communities, from small ones to the whole shard, is the one whose order the cost
 * model predicts to be the fastest over all shards.
 * loa: HC-SpMM's layout for row windows; loa-cluster: that of cluster, rearranged for them
 * (partition/order/order_loa.c).
 * rcm: reverse Cuthill-McKee (partition/order/order_rcm.c).
 * Errors: FAILED, agreed on by all ranks. */
int order_nodes(const struct order_input *input, enum node_order order, struct partition *partition);

/* Whether that order reads input.pattern. */
int order_needs_pattern(enum node_order order);

#endif
