#include "partition/order/order.h"

#include "partition/order/order_ranks.h"
#include "runtime/base/base.h"

/* Ascending ids, shard after shard. */
static int order_given(struct partition *partition) {
  FREED int64_t *next = NULL;
  TRY(memory_arrays("order of nodes", ROOM(&next, partition->parts)));
  for (int p = 0; p < partition->parts; p++) next[p] = partition->offset[p];
  for (int64_t v = 0; v < partition->nodes; v++) partition->order[next[partition->part[v]]++] = v;
  return OK;
}

/* An order that needs no other rank. */
struct filling {
  int (*fill)(const struct order_input *input, struct partition *partition);
  struct partition *partition;
};

static int fill(const struct order_input *input, void *context) {
  const struct filling *filling = context;
  return filling->fill(input, filling->partition);
}

int order_nodes(const struct order_input *input, enum node_order order, struct partition *partition) {
  struct filling filling = {NULL, partition};
  TRY(comm_agree(input->progress->comm, order_given(partition)));
  if (order == ORDER_CLUSTER || order == ORDER_LOA_CLUSTER) TRY(order_cluster(input, partition));
  if (order == ORDER_DEGREE) filling.fill = order_degree;
  if (order == ORDER_METIS) filling.fill = order_metis;
  if (order == ORDER_LOA) filling.fill = order_loa;
  if (order == ORDER_LOA_CLUSTER) filling.fill = order_loa_cluster;
  if (order == ORDER_RCM) filling.fill = order_rcm;
  return filling.fill ? order_by_ranks(input, fill, &filling) : OK;
}

int order_needs_pattern(enum node_order order) {
  return order != ORDER_GIVEN && order != ORDER_DEGREE;
}
