#include "partition/order/order.h"

#include "runtime/base/base.h"

/* Ascending ids, shard after shard. */
static int order_given(struct partition *partition) {
  FREED int64_t *next = NULL;
  TRY(memory_arrays("order of nodes", ROOM(&next, partition->parts)));
  for (int p = 0; p < partition->parts; p++) next[p] = partition->offset[p];
  for (int64_t v = 0; v < partition->nodes; v++) partition->order[next[partition->part[v]]++] = v;
  return OK;
}

/* What is done aside, while the other ranks wait. */
struct ordering {
  const struct order_input *input;
  struct partition *partition;
  int (*fill)(const struct order_input *input, struct partition *partition);
};

static int fill(void *context) {
  struct ordering *ordering = context;
  return ordering->fill(ordering->input, ordering->partition);
}

int order_nodes(const struct order_input *input, enum node_order order, struct partition *partition) {
  struct ordering ordering = {input, partition, NULL};
  TRY(order_given(partition));
  if (order == ORDER_DEGREE) return order_degree(input, partition);
  if (order == ORDER_METIS) return order_metis(input, partition);
  if (order == ORDER_CLUSTER) ordering.fill = order_cluster;
  if (order == ORDER_LOA) ordering.fill = order_loa;
  if (order == ORDER_LOA_CLUSTER) ordering.fill = order_loa_cluster;
  if (order == ORDER_RCM) ordering.fill = order_rcm;
  if (!ordering.fill) return OK;
  return progress_work(input->progress, "ordering the nodes", fill, &ordering);
}

int order_needs_pattern(enum node_order order) {
  return order != ORDER_GIVEN && order != ORDER_DEGREE;
}
