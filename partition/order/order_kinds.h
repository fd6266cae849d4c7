/* order_kinds: the orders by name. Each finds the rows of each shard ascending in partition->order and leaves
 * its own there. */
#ifndef PARTITION_ORDER_ORDER_KINDS_H
#define PARTITION_ORDER_ORDER_KINDS_H

#include "partition/graph/graph.h"
#include "partition/graph/partition.h"
#include "partition/graph/progress.h"
#include "partition/halo/halo.h"

/* The rows of the shards that this rank puts in order. Columns are numbered from 0: these rows come first, in
 * the order of their ids, and behind them other ranks' nodes, in the order of the halo. */
struct order_input {
  struct progress *progress;
  const struct graph *graph; /* rows; nodes: columns */
  const struct csr *pattern; /* symmetric, the same rows; columns behind these are no matter. Not read by
                                given and degree */
  int64_t seed, loa_window;
  struct halo *halo;    /* of the graph's columns behind the rows; NULL: there are none */
  int64_t first, nodes; /* of the first row among all ranks' nodes, and how many these are */
};

/* Of a graph whose rows are all here. */
static inline struct order_input order_input_of(struct progress *progress, const struct graph *graph,
                                                const struct csr *pattern, int64_t seed, int64_t loa_window) {
  return (struct order_input){progress, graph, pattern, seed, loa_window, NULL, 0, graph->rows};
}

int order_degree(const struct order_input *input, struct partition *partition);
int order_metis(const struct order_input *input, struct partition *partition);
int order_loa(const struct order_input *input, struct partition *partition);
int order_rcm(const struct order_input *input, struct partition *partition);
/* Rearranges what it finds, that of cluster. */
int order_loa_cluster(const struct order_input *input, struct partition *partition);

/* Collective. */
int order_cluster(const struct order_input *input, struct partition *partition);

/* local[v] = i for v = id[i], -1 elsewhere; again -1 everywhere after order_unlist. */
void order_list(const int64_t *id, int64_t count, int32_t *local);
void order_unlist(const int64_t *id, int64_t count, int32_t *local);

#endif
