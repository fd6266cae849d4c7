#include "partition/order.h"

#include <stdlib.h>

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

struct ranked {
  int64_t key, id;
};

static int by_key(const void *left, const void *right) {
  const struct ranked *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

/* Ascending key, ties by id. */
static void sort_shard(int64_t *order, int64_t count, const int32_t *cluster, const int64_t *nnz,
                       struct ranked *scratch) {
  for (int64_t i = 0; i < count; i++)
    scratch[i] = (struct ranked){cluster ? cluster[i] : -nnz[order[i]], order[i]};
  qsort(scratch, (size_t)count, sizeof *scratch, by_key);
  for (int64_t i = 0; i < count; i++) order[i] = scratch[i].id;
}

/* Rows and columns `id` of the pattern. local: -1 everywhere, before and after. */
static int extract(const struct csr *pattern, const int64_t *id, int64_t count, int32_t *local,
                   struct csr *inside) {
  int64_t edges = 0;
  for (int64_t i = 0; i < count; i++) {
    local[id[i]] = (int32_t)i;
    edges += pattern->start[id[i] + 1] - pattern->start[id[i]];
  }
  TRY(csr_init(inside, count, count, edges, 0));
  int64_t at = 0;
  for (int64_t i = 0; i < count; i++) {
    for (int64_t e = pattern->start[id[i]]; e < pattern->start[id[i] + 1]; e++)
      if (local[pattern->col[e]] >= 0) inside->col[at++] = local[pattern->col[e]];
    inside->start[i + 1] = at;
  }
  inside->nnz = at;
  for (int64_t i = 0; i < count; i++) local[id[i]] = -1;
  return OK;
}

static int cluster_shard(struct metis_watch *watch, const struct csr *pattern, int64_t seed, int64_t *order,
                         int64_t count, int32_t *local, int32_t *cluster, struct ranked *scratch) {
  int clusters = (int)(count / ORDER_CLUSTER);
  if (clusters < 2) return OK;
  struct csr inside = {0};
  int code = extract(pattern, order, count, local, &inside);
  if (code == OK) code = metis_clusters(watch, &inside, clusters, seed, cluster);
  csr_free(&inside);
  TRY(code);
  sort_shard(order, count, cluster, NULL, scratch);
  return OK;
}

static int order_shards(struct metis_watch *watch, const struct csr *pattern, const int64_t *nnz,
                        enum node_order order, int64_t seed, struct partition *partition, int32_t *local,
                        int32_t *cluster, struct ranked *scratch) {
  for (int64_t v = 0; v < partition->nodes; v++) local[v] = -1;
  for (int p = 0; p < partition->parts; p++) {
    int64_t *first = partition->order + partition->offset[p];
    int64_t count = partition->offset[p + 1] - partition->offset[p];
    if (order == ORDER_DEGREE)
      sort_shard(first, count, NULL, nnz, scratch);
    else
      TRY(cluster_shard(watch, pattern, seed, first, count, local, cluster, scratch));
  }
  return OK;
}

int order_nodes(struct metis_watch *watch, const struct csr *pattern, const int64_t *nnz,
                enum node_order order, int64_t seed, struct partition *partition) {
  TRY(order_given(partition));
  if (order == ORDER_GIVEN) return OK;
  int32_t *local = NULL, *cluster = NULL;
  struct ranked *scratch = NULL;
  int code = memory_alloc(&local, partition->nodes * (int64_t)sizeof *local, "order of nodes");
  if (code == OK)
    code = memory_alloc(&cluster, partition->nodes * (int64_t)sizeof *cluster, "order of nodes");
  if (code == OK)
    code = memory_alloc(&scratch, partition->nodes * (int64_t)sizeof *scratch, "order of nodes");
  if (code == OK) code = order_shards(watch, pattern, nnz, order, seed, partition, local, cluster, scratch);
  free(local);
  free(cluster);
  free(scratch);
  return code;
}
