/* dist_contract: the clusters of a graph over ranks become the nodes of a smaller one. */
#ifndef PARTITION_MULTILEVEL_DIST_CONTRACT_H
#define PARTITION_MULTILEVEL_DIST_CONTRACT_H

#include "partition/multilevel/dist_graph.h"

/* Collective. label and held as dist_cluster leaves them. Clusters are numbered in the order of the nodes
 * that name them: cluster[rows.nodes + ghosts] of each node, which are so many in *clusters. */
int dist_number(const struct dist_graph *fine, const int32_t *label, const int64_t *held, int32_t *cluster,
                int64_t *clusters);

/* Collective. Arcs between two clusters become one, with the sum of the weights; those inside one vanish. */
int dist_contract(const struct dist_graph *fine, const int32_t *cluster, int64_t clusters,
                  struct dist_graph *coarse);

/* Collective. sum[own clusters]: of the values of all nodes in each; value NULL: 1. Adds to what is there. */
int dist_add_up(const struct dist_graph *fine, const int32_t *cluster, int64_t clusters, const int64_t *value,
                int64_t *sum);

#endif
