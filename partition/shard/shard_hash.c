/* What tells one dataset's node data from another's: sums over nodes of a mix of the node and what it has, so
 * that any division among ranks gives the same. */
#include "partition/graph/graph.h"
#include "partition/shard/shard.h"
#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

static uint64_t mix_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

/* A multiplication for every 8 bytes: some 2 GB a second on one processor. */
static uint64_t mix_bytes(uint64_t hash, const void *data, int64_t bytes) {
  const char *from = data, *last = from + bytes / 8 * 8;
  uint64_t word;
  for (; from < last; from += sizeof word) {
    memcpy(&word, from, sizeof word);
    hash = mix_word(hash, word);
  }
  if (bytes % 8 == 0) return hash;
  word = 0;
  memcpy(&word, from, (size_t)(bytes % 8));
  return mix_word(hash, word);
}

static uint64_t hash_features(const struct shard *shard, int64_t v) {
  const struct csr *sparse = &shard->feature_rows;
  uint64_t hash = edge_hash(shard->global_id[v], shard->features, (uint32_t)shard->sparse);
  if (!shard->sparse)
    return mix_bytes(hash, shard->feature + v * shard->features,
                     shard->features * (int64_t)sizeof *shard->feature);
  int64_t first = sparse->start[v], count = sparse->start[v + 1] - first;
  hash = mix_bytes(hash, sparse->col + first, count * (int64_t)sizeof *sparse->col);
  return mix_bytes(hash, sparse->weight + first, count * (int64_t)sizeof *sparse->weight);
}

static uint64_t hash_label(const struct shard *shard, int64_t v) {
  uint64_t hash = edge_hash(shard->global_id[v], shard->classes, shard->labels != NULL);
  if (shard->labels) return mix_bytes(hash, shard->labels + v * shard->classes, shard->classes);
  return mix_bytes(hash, shard->label + v, (int64_t)sizeof *shard->label);
}

static void hash_nodes(const struct dataset *dataset, struct shard *shard) {
  uint64_t features = 0, labels = 0;
#pragma omp parallel for schedule(static) reduction(+ : features, labels)
  for (int64_t v = 0; v < shard->own; v++) {
    if (dataset->has_features) features += hash_features(shard, v);
    if (dataset->task != TASK_NONE) labels += hash_label(shard, v);
  }
  shard->data_hash[DATA_FEATURES] = features;
  shard->data_hash[DATA_LABELS] = labels;
}

/* All that the file has: later runs take further ones. */
static int hash_splits(struct dataset *dataset, uint64_t *hash) {
  for (int64_t split = 0; split < dataset->splits; split++) {
    for (int part = 0; part < SPLIT_COUNT; part++) {
      FREED int64_t *node = NULL;
      int64_t count = 0;
      TRY(dataset_read_split(dataset, split, (enum split)part, &node, &count));
      *hash += mix_bytes(edge_hash(split, part, 0), node, count * (int64_t)sizeof *node);
    }
  }
  return OK;
}

int shard_hash_data(struct comm *comm, struct dataset *dataset, struct shard *shard) {
  memset(shard->data_hash, 0, sizeof shard->data_hash);
  hash_nodes(dataset, shard);
  int code = comm->rank == 0 ? hash_splits(dataset, &shard->data_hash[DATA_SPLITS]) : OK;
  TRY(comm_agree(comm, code));
  return comm_reduce(comm, shard->data_hash, DATA_KINDS, NUMBER_UINT64, REDUCE_SUM);
}
