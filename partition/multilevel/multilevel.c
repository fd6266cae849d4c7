#include "partition/multilevel/multilevel.h"

#include "partition/graph/graph.h"
#include "partition/graph/owners.h"
#include "partition/multilevel/dist_cluster.h"
#include "partition/multilevel/dist_contract.h"
#include "partition/multilevel/dist_parts.h"
#include "partition/multilevel/divide.h"
#include "runtime/base/base.h"

int64_t multilevel_arcs = 3 << 20;

/* Levels at most; nodes that METIS is left with, at least and for each part; clusters in a part, at least. */
enum { LEVELS = 24, NODES = 40000, NODES_A_PART = 400, CLUSTERS_A_PART = 30 };

/* Levels that still divide their nodes by less than this are not worth it. */
static const double SHRINKS = .95;

/* A graph of the hierarchy: its own nodes' loads, and what they are in the next one. */
struct level {
  struct dist_graph graph;
  const int64_t *count, *nnz; /* [own]; count NULL: 1 */
  int32_t *cluster;           /* [own + ghosts], in the next level */
  int32_t *part;              /* [own + ghosts] */
  int64_t *own_count, *own_nnz;
};

struct multilevel {
  struct progress *progress;
  struct comm *comm;
  const struct multilevel_input *input;
  int64_t mean;   /* non-zeros of a node, about: what a node counts beside its own */
  int64_t target; /* nodes of the last level */
  int64_t limit;  /* size of a cluster: non-zeros, and the mean for each node */
  int levels;
  struct level level[LEVELS];
};

static void multilevel_free(struct multilevel *m) {
  for (int l = 0; l < LEVELS; l++) {
    struct level *level = &m->level[l];
    dist_graph_free(&level->graph);
    free_all(level->cluster, level->part, level->own_count, level->own_nnz);
  }
}

static int64_t own_of(const struct level *level) {
  return level->graph.rows.nodes;
}

static int level_init(struct level *level) {
  const int64_t all = own_of(level) + level->graph.ghosts;
  return memory_arrays("a level of a graph", ROOM(&level->cluster, all), ROOM(&level->part, all));
}

static int64_t size_of(const struct multilevel *m, const struct level *level, int64_t v) {
  return level->nnz[v] + m->mean * (level->count ? level->count[v] : 1);
}

static int64_t target_of(int64_t nodes, int parts) {
  return smaller(larger(NODES, (int64_t)parts * NODES_A_PART), nodes);
}

int multilevel_weights(struct comm *comm, const struct multilevel_input *input, int64_t *mean, int64_t *all) {
  int64_t counts = 0, sum = 0;
  for (int64_t v = 0; v < input->rows->rows; v++) {
    counts += input->count ? input->count[v] : 1;
    sum += input->nnz[v];
  }
  TRY(comm_sum_int64(comm, &counts));
  TRY(comm_sum_int64(comm, &sum));
  *mean = sum / larger(counts, 1) + 1;
  *all = sum + *mean * counts;
  return OK;
}

static int set_sizes(struct multilevel *m, int64_t nodes) {
  int64_t all = 0;
  TRY(multilevel_weights(m->comm, m->input, &m->mean, &all));
  m->target = target_of(nodes, m->input->parts);
  m->limit = all / m->input->parts / CLUSTERS_A_PART;
  return OK;
}

static int begin(struct multilevel *m) {
  struct level *level = &m->level[0];
  ENDED_BY(coarse_graph_free) struct coarse_graph sample = {0};
  const struct csr *rows = m->input->rows;
  const int64_t nodes = rows->cols, first = graph_block(nodes, m->comm->size, m->comm->rank);
  TRY(coarse_graph_sample(rows, first, NULL, rows->rows, NULL, m->input->seed, &sample));
  TRY(dist_graph_init(&level->graph, m->comm, nodes, &sample));
  TRY(dist_graph_weigh(&level->graph));
  level->count = m->input->count;
  level->nnz = m->input->nnz;
  m->levels = 1;
  TRY(set_sizes(m, nodes));
  return level_init(level);
}

/* Clusters of a level's nodes, in its `cluster`. */
static int cluster(const struct multilevel *m, struct level *level, int64_t *clusters) {
  const int64_t own = own_of(level);
  FREED int64_t *size = NULL, *held = NULL;
  FREED int32_t *label = NULL;
  TRY(memory_arrays("clusters", ROOM(&size, own), ROOM(&held, own), ROOM(&label, own)));
  for (int64_t v = 0; v < own; v++) size[v] = size_of(m, level, v);
  TRY(dist_cluster(&level->graph, size, m->limit, label, held));
  return dist_number(&level->graph, label, held, level->cluster, clusters);
}

static int add_loads(const struct level *fine, int64_t clusters, struct level *coarse) {
  TRY(memory_arrays("a level of a graph", ROOM(&coarse->own_count, own_of(coarse)),
                    ROOM(&coarse->own_nnz, own_of(coarse))));
  TRY(dist_add_up(&fine->graph, fine->cluster, clusters, fine->count, coarse->own_count));
  TRY(dist_add_up(&fine->graph, fine->cluster, clusters, fine->nnz, coarse->own_nnz));
  coarse->count = coarse->own_count;
  coarse->nnz = coarse->own_nnz;
  return OK;
}

/* The next level; *shrinks: whether it is much smaller. */
static int coarsen(struct multilevel *m, int *shrinks) {
  struct level *fine = &m->level[m->levels - 1], *coarse = fine + 1;
  int64_t clusters;
  TRY(cluster(m, fine, &clusters));
  *shrinks = (double)clusters < SHRINKS * (double)fine->graph.nodes;
  if (!*shrinks) return OK;
  TRY(dist_contract(&fine->graph, fine->cluster, clusters, &coarse->graph));
  TRY(level_init(coarse));
  TRY(add_loads(fine, clusters, coarse));
  m->levels++;
  return OK;
}

static int coarsen_all(struct multilevel *m) {
  int shrinks = 1;
  while (shrinks && m->levels < LEVELS && m->level[m->levels - 1].graph.nodes > m->target) {
    progress_say(m->progress, "clustering");
    TRY(coarsen(m, &shrinks));
  }
  return OK;
}

static int refine(struct multilevel *m, int l) {
  ENDED_BY(dist_parts_free) struct dist_parts parts = {0};
  struct level *level = &m->level[l];
  const struct level *next = level + 1;
  if (l < m->levels - 1)
    TRY(owners_look_up(m->comm, next->graph.nodes, next->part, level->cluster, own_of(level), level->part));
  TRY(dist_parts_init(&parts, &level->graph, m->input->parts, level->count, level->nnz, m->input->balance,
                      level->part));
  if (l < m->levels - 1) TRY(dist_parts_refine(&parts));
  if (l == 0) TRY(dist_parts_lessen_volume(&parts));
  return l == 0 ? dist_parts_balance(&parts) : OK;
}

static int make(struct multilevel *m) {
  TRY(begin(m));
  TRY(coarsen_all(m));
  const struct level *last = &m->level[m->levels - 1];
  const struct divide_input input = {&last->graph,    last->count,    last->nnz,
                                     m->input->parts, m->input->seed, m->input->balance};
  TRY(divide(m->progress, &input, last->part));
  for (int l = m->levels - 1; l >= 0; l--) {
    progress_say(m->progress, "refining the parts");
    TRY(refine(m, l));
  }
  return OK;
}

int multilevel_takes(int64_t arcs, int directed) {
  return arcs * (directed ? 2 : 1) > multilevel_arcs;
}

/* Without communities the levels below the first one take half as much again as it does. */
int64_t multilevel_bytes(int64_t nodes, int64_t arcs, int ranks) {
  enum { NODE = 96 };
  const int64_t sample = smaller(arcs, nodes * COARSE_GRAPH_SAMPLE);
  return (sample * (int64_t)(sizeof(int32_t) + sizeof(float)) + nodes * NODE) * 5 / 2 / ranks;
}

int64_t multilevel_divide_bytes(int64_t nodes, int64_t arcs, int parts) {
  return divide_bytes(target_of(nodes, parts), smaller(arcs, nodes * COARSE_GRAPH_SAMPLE));
}

int multilevel_partition(struct progress *progress, const struct multilevel_input *input, int32_t *part) {
  ENDED_BY(multilevel_free)
  struct multilevel m = {.progress = progress, .comm = progress->comm, .input = input};
  TRY(comm_agree(m.comm, make(&m)));
  memcpy(part, m.level[0].part, (size_t)input->rows->rows * sizeof *part);
  return OK;
}
