/* Order "cluster": nested communities of each shard, the densest first, and in the last of them nodes of many
 * arcs first. Communities that are too small scatter the arcs between them, large ones those inside: the
 * level of the nest at which nodes are sorted by degree is the one that is rated best, over all ranks'
 * shards. */
#include <math.h>

#include "partition/order/cluster.h"
#include "partition/order/order_kinds.h"
#include "partition/order/order_ranks.h"
#include "partition/order/order_rate.h"
#include "runtime/base/base.h"

enum { WINDOWS_RATED = 1024 };

/* Levels are compared at this one product, whatever the run will do: an order depends on the graph alone. */
static const struct cost_case rated = {&cost_model_h200, PRECISION_BF16, 128, 0, {0, 0}};

struct communities {
  struct partition *partition;
  struct clusters *clusters; /* [parts] */
  int64_t *by_degree;        /* [nodes] shard after shard */
  int32_t *local;            /* [columns] place of a node among its shard's ascending ids */
  int64_t *best;             /* [nodes] the best order so far */
  double seconds;            /* predicted for it */
  int level;                 /* of the nest, at which an order is made */
};

static void communities_free(struct communities *c) {
  for (int p = 0; c->clusters && p < c->partition->parts; p++) clusters_free(&c->clusters[p]);
  free_all(c->clusters, c->by_degree, c->local, c->best);
}

static int find(const struct order_input *input, struct communities *c) {
  const struct partition *partition = c->partition;
  const struct csr *pattern = input->pattern;
  const int whole = partition->parts == 1 && pattern->cols == pattern->rows;
  for (int64_t v = 0; v < pattern->cols; v++) c->local[v] = -1;
  for (int p = 0; p < partition->parts; p++) {
    const int64_t *id = partition->order + partition->offset[p];
    int64_t count = partition->offset[p + 1] - partition->offset[p];
    ENDED_BY(coarse_graph_free) struct coarse_graph coarse_graph = {0};
    order_list(id, count, c->local);
    TRY(coarse_graph_sample(pattern, 0, whole ? NULL : id, count, whole ? NULL : c->local, input->seed,
                            &coarse_graph));
    TRY(clusters_find(&coarse_graph, &c->clusters[p]));
    order_unlist(id, count, c->local);
  }
  for (int p = 0; p < partition->parts; p++)
    order_list(partition->order + partition->offset[p], partition->offset[p + 1] - partition->offset[p],
               c->local);
  return OK;
}

/* The communities of this rank's shards, and their nodes by degree. */
static int prepare(const struct order_input *input, void *context) {
  struct communities *c = context;
  const struct partition *partition = c->partition;
  TRY(memory_arrays("clusters", ROOM(&c->clusters, partition->parts)));
  TRY(memory_arrays("order of nodes", ROOM(&c->local, input->pattern->cols)));
  TRY(find(input, c));
  TRY(memory_arrays("order of nodes", ROOM(&c->by_degree, partition->nodes),
                    ROOM(&c->best, partition->nodes)));
  TRY(order_degree(input, c->partition));
  memcpy(c->by_degree, partition->order, (size_t)partition->nodes * sizeof *c->by_degree);
  memcpy(c->best, c->by_degree, (size_t)partition->nodes * sizeof *c->best);
  return OK;
}

/* A cluster among its siblings. */
struct sibling {
  int32_t parent_rank, index;
  double density; /* arcs a node */
};

static int by_parent(const void *left, const void *right) {
  const struct sibling *a = left, *b = right;
  if (a->parent_rank != b->parent_rank) return COMPARE(a->parent_rank, b->parent_rank);
  return a->density != b->density ? COMPARE(b->density, a->density) : COMPARE(a->index, b->index);
}

/* rank[x]: the place of cluster x of level l, whose parents' places are given (NULL: it is the last level).
 * nodes: of each cluster. */
static int rank_level(const struct clusters *c, int l, const int64_t *nodes, const int32_t *parent_rank,
                      int32_t *rank) {
  FREED struct sibling *sibling = NULL;
  int64_t count = c->count[l + 1];
  TRY(memory_arrays("order of clusters", ROOM(&sibling, count)));
  for (int64_t x = 0; x < count; x++)
    sibling[x] = (struct sibling){.parent_rank = parent_rank ? parent_rank[c->of[l + 1][x]] : 0,
                                  .index = (int32_t)x,
                                  .density = (double)c->volume[l][x] / (double)nodes[x]};
  qsort(sibling, (size_t)count, sizeof *sibling, by_parent);
  for (int64_t i = 0; i < count; i++) rank[sibling[i].index] = (int32_t)i;
  return OK;
}

/* From the last level down to `level`, whose places are left in rank. */
static int rank_down(const struct clusters *c, int level, int64_t **nodes, int32_t *rank, int32_t *parent) {
  for (int l = c->levels - 1; l >= level; l--) {
    TRY(rank_level(c, l, nodes[l], l == c->levels - 1 ? NULL : parent, rank));
    memcpy(parent, rank, (size_t)c->count[l + 1] * sizeof *rank);
  }
  return OK;
}

static int count_nodes(const struct clusters *c, int64_t **nodes) {
  for (int l = 0; l < c->levels; l++) {
    TRY(memory_arrays("sizes of clusters", ROOM(&nodes[l], c->count[l + 1])));
    for (int64_t x = 0; x < c->count[l]; x++) nodes[l][c->of[l][x]] += l ? nodes[l - 1][x] : 1;
  }
  return OK;
}

static int rank_clusters(const struct clusters *c, int level, int32_t **rank) {
  int64_t *nodes[CLUSTER_LEVELS] = {0}, count = c->count[level + 1];
  FREED int32_t *parent = NULL;
  TRY(memory_arrays("order of clusters", ROOM(rank, count), ROOM(&parent, count)));
  int code = count_nodes(c, nodes);
  if (code == OK) code = rank_down(c, level, nodes, *rank, parent);
  for (int l = 0; l < CLUSTER_LEVELS; l++) free(nodes[l]);
  return code;
}

static int32_t cluster_at(const struct clusters *c, int level, int32_t node) {
  for (int l = 0; l <= level; l++) node = c->of[l][node];
  return node;
}

/* Shard p's nodes by the place of their cluster, then by degree. */
static int fill_shard(struct communities *c, int p) {
  const struct clusters *clusters = &c->clusters[p];
  const int64_t *node = c->by_degree + c->partition->offset[p];
  int64_t count = c->partition->offset[p + 1] - c->partition->offset[p],
          *order = c->partition->order + c->partition->offset[p];
  FREED int64_t *place = NULL;
  FREED int32_t *rank = NULL;
  const int level = (int)smaller(c->level, clusters->levels - 1);
  TRY(rank_clusters(clusters, level, &rank));
  TRY(memory_arrays("order of nodes", ROOM(&place, clusters->count[level + 1] + 1)));
  for (int64_t i = 0; i < count; i++) place[rank[cluster_at(clusters, level, c->local[node[i]])] + 1]++;
  for (int64_t x = 0; x < clusters->count[level + 1]; x++) place[x + 1] += place[x];
  for (int64_t i = 0; i < count; i++)
    order[place[rank[cluster_at(clusters, level, c->local[node[i]])]]++] = node[i];
  return OK;
}

static int fill(const struct order_input *input, void *context) {
  struct communities *c = context;
  (void)input;
  for (int p = 0; p < c->partition->parts; p++) TRY(fill_shard(c, p));
  return OK;
}

static int rate(const struct order_input *input, const struct communities *c, const int64_t *order,
                double *seconds) {
  struct density density;
  TRY(order_rate_all(input, c->partition, order, WINDOWS_RATED, &density));
  *seconds = choose(&rated, &density).seconds;
  return comm_broadcast(input->progress->comm, seconds, sizeof *seconds, 0);
}

/* Goes up the levels while they get better. The whole shard by degree stands for the level above all. */
static int pick_level(const struct order_input *input, struct communities *c) {
  int64_t *order = c->partition->order, bytes = c->partition->nodes * (int64_t)sizeof *order, levels = 0;
  double seconds, before = INFINITY;
  TRY(rate(input, c, c->best, &c->seconds));
  for (int p = 0; p < c->partition->parts; p++) levels = larger(levels, c->clusters[p].levels);
  TRY(comm_max_int64(input->progress->comm, &levels));
  for (; c->level < levels; c->level++, before = seconds) {
    TRY(order_by_ranks(input, fill, c));
    TRY(rate(input, c, order, &seconds));
    if (seconds < c->seconds) {
      c->seconds = seconds;
      memcpy(c->best, order, (size_t)bytes);
    }
    if (seconds > before) break;
  }
  memcpy(order, c->best, (size_t)bytes);
  return OK;
}

int order_cluster(const struct order_input *input, struct partition *partition) {
  ENDED_BY(communities_free) struct communities communities = {.partition = partition};
  TRY(order_by_ranks(input, prepare, &communities));
  return pick_level(input, &communities);
}
