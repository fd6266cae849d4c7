/* Order "metis": clusters that METIS finds inside each shard, in the order of their numbers. */
#include "partition/graph/metis.h"
#include "partition/order/order_kinds.h"
#include "runtime/base/base.h"

/* Features of so many nodes fill 256 KiB of cache at 128 columns. */
enum { CLUSTER_NODES = 512 };

/* Rows and columns `id` of the pattern, without loops. local: -1 everywhere, before and after. */
static int extract(const struct csr *pattern, const int64_t *id, int64_t count, int32_t *local,
                   struct csr *inside) {
  int64_t edges = 0, at = 0;
  order_list(id, count, local);
  for (int64_t i = 0; i < count; i++) edges += pattern->start[id[i] + 1] - pattern->start[id[i]];
  TRY(csr_init(inside, count, count, edges, 0));
  for (int64_t i = 0; i < count; i++) {
    for (int64_t e = pattern->start[id[i]]; e < pattern->start[id[i] + 1]; e++)
      if (local[pattern->col[e]] >= 0 && pattern->col[e] != id[i]) inside->col[at++] = local[pattern->col[e]];
    inside->start[i + 1] = at;
  }
  inside->nnz = at;
  order_unlist(id, count, local);
  return OK;
}

/* Nodes by cluster, ascending ids in each. */
static int sort_clusters(int64_t *order, int64_t count, const int32_t *cluster, int clusters) {
  FREED int64_t *start = NULL, *before = NULL;
  FREED int32_t *sorted = NULL;
  TRY(memory_arrays("order of nodes", ROOM(&start, clusters + 1), ROOM(&sorted, count),
                    ROOM(&before, count)));
  group_by_key(cluster, count, clusters, start, sorted);
  memcpy(before, order, (size_t)count * sizeof *order);
  for (int64_t i = 0; i < count; i++) order[i] = before[sorted[i]];
  return OK;
}

static int order_shard(const struct order_input *input, int64_t *order, int64_t count, int32_t *local,
                       int32_t *cluster) {
  int clusters = (int)(count / CLUSTER_NODES);
  if (clusters < 2) return OK;
  ENDED_BY(csr_free) struct csr inside = {0};
  TRY(extract(input->pattern, order, count, local, &inside));
  TRY(metis_fits(inside.rows, inside.nnz, input->graph->path));
  TRY(metis_clusters(input->progress, &inside, clusters, input->seed, cluster));
  return sort_clusters(order, count, cluster, clusters);
}

int order_metis(const struct order_input *input, struct partition *partition) {
  FREED int32_t *local = NULL, *cluster = NULL;
  const int64_t columns = input->pattern->cols;
  TRY(memory_arrays("order of nodes", ROOM(&local, columns), ROOM(&cluster, partition->nodes)));
  for (int64_t v = 0; v < columns; v++) local[v] = -1;
  for (int p = 0; p < partition->parts; p++)
    TRY(order_shard(input, partition->order + partition->offset[p],
                    partition->offset[p + 1] - partition->offset[p], local, cluster));
  return OK;
}
