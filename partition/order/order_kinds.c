#include "partition/order/order_kinds.h"

#include "runtime/base/base.h"

static int64_t degree_of(const struct graph *graph, int64_t v) {
  return graph->start[v + 1] - graph->start[v];
}

/* Descending row length, stably. scratch: [count]. */
static int sort_by_degree(const struct graph *graph, int64_t *node, int64_t count, int64_t *scratch) {
  int64_t largest = 0;
  FREED int64_t *place = NULL;
  for (int64_t i = 0; i < count; i++) largest = larger(largest, degree_of(graph, node[i]));
  TRY(memory_arrays("order of nodes", ROOM(&place, largest + 2)));
  for (int64_t i = 0; i < count; i++) place[largest - degree_of(graph, node[i]) + 1]++;
  for (int64_t d = 0; d <= largest; d++) place[d + 1] += place[d];
  for (int64_t i = 0; i < count; i++) scratch[place[largest - degree_of(graph, node[i])]++] = node[i];
  memcpy(node, scratch, (size_t)count * sizeof *node);
  return OK;
}

int order_degree(const struct order_input *input, struct partition *partition) {
  FREED int64_t *scratch = NULL;
  TRY(memory_arrays("order of nodes", ROOM(&scratch, partition->nodes)));
  for (int p = 0; p < partition->parts; p++)
    TRY(sort_by_degree(input->graph, partition->order + partition->offset[p],
                       partition->offset[p + 1] - partition->offset[p], scratch));
  return OK;
}

void order_list(const int64_t *id, int64_t count, int32_t *local) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) local[id[i]] = (int32_t)i;
}

void order_unlist(const int64_t *id, int64_t count, int32_t *local) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) local[id[i]] = -1;
}
