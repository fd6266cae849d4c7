#include "partition/order/order_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"

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
