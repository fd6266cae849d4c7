/* order_kinds: the orders by name. Each finds ascending ids, shard after shard, in partition->order and
 * leaves its own there. */
#ifndef PARTITION_ORDER_ORDER_KINDS_H
#define PARTITION_ORDER_ORDER_KINDS_H

#include "partition/graph/graph.h"
#include "partition/graph/partition.h"
#include "partition/graph/progress.h"

struct order_input {
  struct progress *progress;
  const struct graph *graph; /* all rows */
  const struct csr *pattern; /* symmetric; metis: without loops. Not read by given and degree */
  int64_t seed, loa_window;
};

int order_degree(const struct order_input *input, struct partition *partition);
int order_metis(const struct order_input *input, struct partition *partition);
int order_cluster(const struct order_input *input, struct partition *partition);
int order_loa(const struct order_input *input, struct partition *partition);
int order_loa_cluster(const struct order_input *input, struct partition *partition);
int order_rcm(const struct order_input *input, struct partition *partition);

/* local[v] = i for v = id[i], -1 elsewhere; again -1 everywhere after order_unlist. */
void order_list(const int64_t *id, int64_t count, int32_t *local);
void order_unlist(const int64_t *id, int64_t count, int32_t *local);

#endif
