/* dist_cluster: clusters of the nodes of a graph over ranks, none larger than it may be. Each node goes to
 * the cluster that most of its arcs lead to and that has room (size-constrained label propagation:
 * Meyerhenke, Sanders and Schulz, SEA 2014; over ranks: the same, IEEE Trans. Parallel Distrib. Syst. 28,
 * 2017). A cluster is named by a node, whose owner keeps the cluster's size and lets nodes in; those of a
 * share come in the order of their ids, so that the result is the same on any number of ranks and threads. */
#ifndef PARTITION_MULTILEVEL_DIST_CLUSTER_H
#define PARTITION_MULTILEVEL_DIST_CLUSTER_H

#include "partition/multilevel/dist_graph.h"

/* Collective. size: of each own node; most: of a cluster. label[rows.nodes]: each own node's cluster, a
 * global id; held[rows.nodes]: the size of the cluster that an own node names, 0: none. */
int dist_cluster(const struct dist_graph *g, const int64_t *size, int64_t most, int32_t *label,
                 int64_t *held);

#endif
