/* order_ranks: what ranks do together to put their shards in order. */
#ifndef PARTITION_ORDER_ORDER_RANKS_H
#define PARTITION_ORDER_ORDER_RANKS_H

#include "partition/order/order_kinds.h"

/* Collective. The density of all ranks' shards, cols their mean, as order[rows] has the rows of these
 * (order_rate.h). Counts halo, nnz and edge_cut of this rank's shards, which are the same in any order. */
int order_rate_all(const struct order_input *input, struct partition *partition, const int64_t *order,
                   int64_t windows, struct density *density);

/* Collective. What a rank does by itself for a while, in a thread of its own (progress_work()). */
typedef int order_work(const struct order_input *input, void *context);
int order_by_ranks(const struct order_input *input, order_work *work, void *context);

#endif
