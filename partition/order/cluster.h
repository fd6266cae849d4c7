/* cluster: communities within communities, found in a shard's graph.
 *
 * Nodes move to the label that gains most modularity (Newman and Girvan, Phys. Rev. E 69, 2004) among those
 * of their neighbours, until few do; labels become the nodes of the next level (Blondel et al., J. Stat.
 * Mech. 2008). Each level's resolution is a quarter of the one before, so that the levels end near one
 * cluster. Threads share a round: nodes are moved in rounds of fixed shares, and all of a share see the
 * labels as they were before it. The result is the same for any number of threads. */
#ifndef PARTITION_ORDER_CLUSTER_H
#define PARTITION_ORDER_CLUSTER_H

#include "partition/graph/coarse_graph.h"

enum { CLUSTER_LEVELS = 12 };

struct clusters {
  int levels;
  int64_t count[CLUSTER_LEVELS + 1]; /* nodes, then clusters of each level */
  int32_t *of[CLUSTER_LEVELS];       /* [count[l]] the cluster of level l that each of level l - 1 is in */
  int64_t *volume[CLUSTER_LEVELS];   /* [count[l + 1]] arcs of each cluster's nodes */
};

/* Takes the coarse graph over and frees it. */
int clusters_find(struct coarse_graph *coarse_graph, struct clusters *clusters);
void clusters_free(struct clusters *clusters);

#endif
