/* Order "metis": clusters that METIS finds inside each shard, in the order of their numbers. */
#include <stdlib.h>

#include "partition/graph/metis.h"
#include "partition/order/order_kinds.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

/* Features of so many nodes fill 256 KiB of cache at 128 columns. */
enum { CLUSTER_NODES = 512 };

/* Rows and columns `id` of the pattern. local: -1 everywhere, before and after. */
static int extract(const struct csr *pattern, const int64_t *id, int64_t count, int32_t *local,
                   struct csr *inside) {
  int64_t edges = 0, at = 0;
  order_list(id, count, local);
  for (int64_t i = 0; i < count; i++) edges += pattern->start[id[i] + 1] - pattern->start[id[i]];
  TRY(csr_init(inside, count, count, edges, 0));
  for (int64_t i = 0; i < count; i++) {
    for (int64_t e = pattern->start[id[i]]; e < pattern->start[id[i] + 1]; e++)
      if (local[pattern->col[e]] >= 0) inside->col[at++] = local[pattern->col[e]];
    inside->start[i + 1] = at;
  }
  inside->nnz = at;
  order_unlist(id, count, local);
  return OK;
}

/* Nodes by cluster, ascending ids in each. */
static int sort_clusters(int64_t *order, int64_t count, const int32_t *cluster, int clusters) {
  int64_t *place = NULL, *sorted = NULL;
  int code = memory_alloc(&place, (clusters + 1) * (int64_t)sizeof *place, "order of nodes");
  if (code == OK) code = memory_alloc(&sorted, count * (int64_t)sizeof *sorted, "order of nodes");
  if (code == OK) {
    for (int64_t i = 0; i < count; i++) place[cluster[i] + 1]++;
    for (int c = 0; c < clusters; c++) place[c + 1] += place[c];
    for (int64_t i = 0; i < count; i++) sorted[place[cluster[i]]++] = order[i];
    for (int64_t i = 0; i < count; i++) order[i] = sorted[i];
  }
  free(place);
  free(sorted);
  return code;
}

static int order_shard(const struct order_input *input, int64_t *order, int64_t count, int32_t *local,
                       int32_t *cluster) {
  int clusters = (int)(count / CLUSTER_NODES);
  if (clusters < 2) return OK;
  struct csr inside = {0};
  int code = extract(input->pattern, order, count, local, &inside);
  if (code == OK) code = metis_clusters(input->progress, &inside, clusters, input->seed, cluster);
  csr_free(&inside);
  TRY(code);
  return sort_clusters(order, count, cluster, clusters);
}

static int order_shards(const struct order_input *input, struct partition *partition, int32_t *local,
                        int32_t *cluster) {
  for (int64_t v = 0; v < partition->nodes; v++) local[v] = -1;
  for (int p = 0; p < partition->parts; p++)
    TRY(order_shard(input, partition->order + partition->offset[p],
                    partition->offset[p + 1] - partition->offset[p], local, cluster));
  return OK;
}

int order_metis(const struct order_input *input, struct partition *partition) {
  int32_t *local = NULL, *cluster = NULL;
  int64_t bytes = partition->nodes * (int64_t)sizeof *local;
  int code = memory_alloc(&local, bytes, "order of nodes");
  if (code == OK) code = memory_alloc(&cluster, bytes, "order of nodes");
  if (code == OK) code = order_shards(input, partition, local, cluster);
  free(local);
  free(cluster);
  return code;
}
