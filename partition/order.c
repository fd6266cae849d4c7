#include "partition/order.h"

#include <stdlib.h>
#include <string.h>

#include "partition/order_kinds.h"
#include "runtime/error.h"
#include "runtime/memory.h"

/* Ascending ids, shard after shard. */
static int order_given(struct partition *partition) {
  int64_t *next = NULL;
  TRY(memory_alloc(&next, partition->parts * (int64_t)sizeof *next, "order of nodes"));
  for (int p = 0; p < partition->parts; p++) next[p] = partition->offset[p];
  for (int64_t v = 0; v < partition->nodes; v++) partition->order[next[partition->part[v]]++] = v;
  free(next);
  return OK;
}

static int64_t degree_of(const struct graph *graph, int64_t v) {
  return graph->start[v + 1] - graph->start[v];
}

int order_by_degree(const struct graph *graph, int64_t *node, int64_t count, int64_t *scratch) {
  int64_t largest = 0, *place = NULL;
  for (int64_t i = 0; i < count; i++)
    if (degree_of(graph, node[i]) > largest) largest = degree_of(graph, node[i]);
  TRY(memory_alloc(&place, (largest + 2) * (int64_t)sizeof *place, "order of nodes"));
  for (int64_t i = 0; i < count; i++) place[largest - degree_of(graph, node[i]) + 1]++;
  for (int64_t d = 0; d <= largest; d++) place[d + 1] += place[d];
  for (int64_t i = 0; i < count; i++) scratch[place[largest - degree_of(graph, node[i])]++] = node[i];
  memcpy(node, scratch, (size_t)count * sizeof *node);
  free(place);
  return OK;
}

static int sort_shards(const struct graph *graph, struct partition *partition, int64_t *scratch) {
  for (int p = 0; p < partition->parts; p++)
    TRY(order_by_degree(graph, partition->order + partition->offset[p],
                        partition->offset[p + 1] - partition->offset[p], scratch));
  return OK;
}

int order_degree(const struct order_input *input, struct partition *partition) {
  int64_t *scratch = NULL;
  TRY(memory_alloc(&scratch, partition->nodes * (int64_t)sizeof *scratch, "order of nodes"));
  int code = sort_shards(input->graph, partition, scratch);
  free(scratch);
  return code;
}

void order_list(const int64_t *id, int64_t count, int32_t *local) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) local[id[i]] = (int32_t)i;
}

void order_unlist(const int64_t *id, int64_t count, int32_t *local) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) local[id[i]] = -1;
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
  if (order == ORDER_RCM) ordering.fill = order_rcm;
  if (!ordering.fill) return OK;
  return watch_work(input->watch, "ordering the nodes", fill, &ordering);
}

int order_needs_pattern(enum node_order order) {
  return order != ORDER_GIVEN && order != ORDER_DEGREE;
}
