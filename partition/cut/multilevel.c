#include "partition/cut/multilevel.h"

#include "partition/cut/balance.h"
#include "partition/cut/refine.h"
#include "partition/graph/metis.h"
#include "partition/order/cluster.h"
#include "runtime/base/base.h"

int64_t multilevel_arcs = 3 << 20;

/* Levels at most; nodes that METIS is left with, at least and for each part; clusters in a part, at least. */
enum { LEVELS = 24, NODES = 40000, NODES_A_PART = 400, CLUSTERS_A_PART = 30 };

/* Levels that still divide their nodes by less than this are not worth it. */
static const double SHRINKS = .95;

/* A graph of the hierarchy: its nodes' loads, and what they are in the next one. */
struct level {
  struct coarse_graph graph;
  const int64_t *count, *nnz; /* [nodes]; count NULL: 1 */
  int64_t *size;              /* [nodes] both together */
  int32_t *cluster;           /* [nodes], in the next level */
  int32_t *part;              /* [nodes] */
  int64_t *own_count, *own_nnz;
};

struct multilevel {
  struct progress *progress;
  const struct csr *pattern;
  int parts;
  int64_t seed;
  double balance;
  int64_t target, limit; /* nodes of the last level; size of a cluster */
  int levels;
  struct level level[LEVELS];
};

static void multilevel_free(struct multilevel *m) {
  for (int l = 0; l < LEVELS; l++) {
    struct level *level = &m->level[l];
    coarse_graph_free(&level->graph);
    free_all(level->size, level->cluster, level->part, level->own_count, level->own_nnz);
  }
}

static int64_t count_of(const int64_t *count, int64_t v) {
  return count ? count[v] : 1;
}

static int level_init(struct level *level, int64_t nodes) {
  return memory_arrays("a level of a graph", ROOM(&level->size, nodes), ROOM(&level->cluster, nodes),
                       ROOM(&level->part, nodes));
}

/* A node's size is its share of the nodes and of the non-zeros together. */
static int begin(struct multilevel *m, const int64_t *count, const int64_t *nnz) {
  struct level *level = &m->level[0];
  int64_t nodes = m->pattern->rows, sum = 0, counts = 0, total = 0;
  TRY(level_init(level, nodes));
  level->count = count;
  level->nnz = nnz;
  for (int64_t v = 0; v < nodes; v++) {
    counts += count_of(count, v);
    sum += nnz[v];
  }
  int64_t mean = sum / larger(counts, 1) + 1;
  for (int64_t v = 0; v < nodes; v++) total += level->size[v] = nnz[v] + mean * count_of(count, v);
  m->target = larger(NODES, (int64_t)m->parts * NODES_A_PART);
  m->limit = total / m->parts / CLUSTERS_A_PART;
  m->levels = 1;
  TRY(coarse_graph_sample(m->pattern, NULL, nodes, NULL, m->seed, &level->graph));
  return coarse_graph_weigh(&level->graph);
}

static int add_loads(const struct level *fine, struct level *coarse) {
  TRY(memory_arrays("a level of a graph", ROOM(&coarse->own_count, coarse->graph.nodes),
                    ROOM(&coarse->own_nnz, coarse->graph.nodes)));
  for (int64_t v = 0; v < fine->graph.nodes; v++) {
    int32_t c = fine->cluster[v];
    coarse->own_count[c] += count_of(fine->count, v);
    coarse->own_nnz[c] += fine->nnz[v];
    coarse->size[c] += fine->size[v];
  }
  coarse->count = coarse->own_count;
  coarse->nnz = coarse->own_nnz;
  return OK;
}

/* The next level; *shrinks: whether it is much smaller. */
static int coarsen(struct multilevel *m, int *shrinks) {
  struct level *fine = &m->level[m->levels - 1], *coarse = fine + 1;
  const struct cluster_limit limit = {fine->size, m->limit};
  int64_t labels;
  TRY(clusters_within(&fine->graph, &limit, fine->cluster, &labels));
  *shrinks = (double)labels < SHRINKS * (double)fine->graph.nodes;
  if (!*shrinks) return OK;
  TRY(coarse_graph_contract(&fine->graph, fine->cluster, labels, &coarse->graph));
  TRY(level_init(coarse, labels));
  TRY(add_loads(fine, coarse));
  m->levels++;
  return OK;
}

static int coarsen_all(void *context) {
  struct multilevel *m = context;
  int shrinks = 1;
  while (shrinks && m->levels < LEVELS && m->level[m->levels - 1].graph.nodes > m->target)
    TRY(coarsen(m, &shrinks));
  return OK;
}

static int refine(const struct multilevel *m, struct level *level) {
  return refine_parts(&level->graph, level->count, level->nnz, m->parts, m->balance, level->part);
}

static int refine_all(void *context) {
  struct multilevel *m = context;
  for (int l = m->levels - 2; l >= 0; l--) {
    struct level *level = &m->level[l];
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < level->graph.nodes; v++) level->part[v] = m->level[l + 1].part[level->cluster[v]];
    TRY(refine(m, level));
  }
  return OK;
}

/* Divides the nodes of the last level, of which no more than METIS takes in its stride are left. */
static int divide(const struct multilevel *m) {
  ENDED_BY(csr_free) struct csr graph = {0};
  const struct level *last = &m->level[m->levels - 1];
  TRY(coarse_graph_symmetrise(&last->graph, &graph));
  TRY(metis_fits(graph.rows, graph.nnz, "a graph of clusters"));
  TRY(metis_partition(m->progress, &graph, last->count, last->nnz, m->parts, m->seed, m->balance,
                      last->part));
  return balance_parts(&graph, last->count, last->nnz, m->parts, m->balance, last->part);
}

int multilevel_takes(int64_t arcs, int directed) {
  return arcs * (directed ? 2 : 1) > multilevel_arcs;
}

/* Without communities the levels below the first one take half as much again as it does. */
int64_t multilevel_bytes(int64_t nodes, int64_t arcs) {
  enum { NODE = 80 };
  int64_t sample = smaller(arcs, nodes * COARSE_GRAPH_SAMPLE);
  return (sample * (int64_t)(sizeof(int32_t) + sizeof(float)) + nodes * NODE) * 5 / 2;
}

int multilevel_partition(struct progress *progress, const struct csr *pattern, const int64_t *count,
                         const int64_t *nnz, int parts, int64_t seed, double balance, int32_t *part) {
  ENDED_BY(multilevel_free)
  struct multilevel m = {
      .progress = progress, .pattern = pattern, .parts = parts, .seed = seed, .balance = balance};
  TRY(begin(&m, count, nnz));
  TRY(progress_work(progress, "clustering", coarsen_all, &m));
  TRY(divide(&m));
  TRY(progress_work(progress, "refining the parts", refine_all, &m));
  memcpy(part, m.level[0].part, (size_t)pattern->rows * sizeof *part);
  return OK;
}
