#include "partition/order/cluster.h"

#include "runtime/base/base.h"

enum { ROUNDS = 12, SHARES = 8, SHARES_SMALL = 64, SMALL = 20000 };

/* Arcs of a share below which one thread is faster than the team is called. */
enum { ALONE = 1 << 14 };

static const double RESOLUTION = 4, COARSER = .25, SETTLED = .05;

/* From round PATIENCE on, one in which almost as many move as in the one before is the last: where there are
 * no communities, nodes move for ever. */
enum { PATIENCE = 5 };
static const double ALMOST = .85;

struct moving {
  const struct coarse_graph *coarse_graph;
  double resolution; /* over the total volume */
  int32_t *label, *next;
  int64_t *volume;   /* of each label */
  int shares, alone; /* alone: by one thread */
};

static double gain(const struct moving *m, double weight, int64_t volume, int64_t own) {
  return weight - m->resolution * (double)own * (double)volume;
}

/* The label with the largest gain; the present one when none is better; of equals the smallest. */
static int32_t best_label(const struct moving *m, struct tally *t, int64_t v) {
  int64_t own = m->coarse_graph->volume[v];
  int32_t best = m->label[v];
  double weight = 0;
  tally_clear(t);
  tally_row(t, m->coarse_graph, v, m->label, -1);
  for (int64_t i = 0; i < t->count; i++)
    if (t->label[t->touched[i]] == best) weight = t->sum[t->touched[i]];
  double most = gain(m, weight, m->volume[best] - own, own);
  for (int64_t i = 0; i < t->count; i++) {
    int32_t label = t->label[t->touched[i]];
    if (label == m->label[v]) continue;
    double here = gain(m, t->sum[t->touched[i]], m->volume[label], own);
    if (here < most || (here == most && (best == m->label[v] || label > best))) continue;
    most = here;
    best = label;
  }
  return best;
}

/* Every shares-th node from `share` on decides, all from the same labels. */
static int decide(struct moving *m, int share, int64_t longest) {
  int code = OK;
#pragma omp parallel reduction(max : code) if (!m->alone)
  {
    struct tally tally = {0};
    code = tally_init(&tally, longest);
#pragma omp for schedule(dynamic, 256)
    for (int64_t v = share; v < m->coarse_graph->nodes; v += m->shares)
      if (code == OK) m->next[v] = best_label(m, &tally, v);
    tally_free(&tally);
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to cluster %lld nodes", (long long)m->coarse_graph->nodes);
  return OK;
}

/* Volumes are whole numbers: their sums do not depend on the order. */
static int64_t move(struct moving *m, int share) {
  int64_t moved = 0;
#pragma omp parallel for schedule(static) reduction(+ : moved) if (!m->alone)
  for (int64_t v = share; v < m->coarse_graph->nodes; v += m->shares) {
    int32_t from = m->label[v], to = m->next[v];
    if (from == to) continue;
    moved++;
    m->label[v] = to;
#pragma omp atomic
    m->volume[from] -= m->coarse_graph->volume[v];
#pragma omp atomic
    m->volume[to] += m->coarse_graph->volume[v];
  }
  return moved;
}

static int settle(struct moving *m) {
  int64_t nodes = m->coarse_graph->nodes, longest = coarse_graph_longest_row(m->coarse_graph), before = nodes;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t moved = 0;
    for (int share = 0; share < m->shares; share++) {
      TRY(decide(m, share, longest));
      moved += move(m, share);
    }
    if ((double)moved <= SETTLED * (double)nodes) return OK;
    if (round >= PATIENCE && (double)moved > ALMOST * (double)before) return OK;
    before = moved;
  }
  return OK;
}

/* Labels 0, 1, ... in the order of their first nodes; returns how many. number: scratch. */
static int64_t renumber(int64_t nodes, int32_t *label, int32_t *number) {
  int64_t count = 0;
  memset(number, -1, (size_t)nodes * sizeof *number);
  for (int64_t v = 0; v < nodes; v++) {
    if (number[label[v]] < 0) number[label[v]] = (int32_t)count++;
    label[v] = number[label[v]];
  }
  return count;
}

static int label_nodes(const struct coarse_graph *coarse_graph, double resolution, int32_t *label,
                       int64_t *labels) {
  int64_t nodes = coarse_graph->nodes;
  FREED int64_t *volume = NULL;
  FREED int32_t *next = NULL;
  TRY(memory_arrays("clusters", ROOM(&next, nodes), ROOM(&volume, nodes)));
  struct moving moving = {.coarse_graph = coarse_graph,
                          .label = label,
                          .next = next,
                          .volume = volume,
                          .shares = nodes < SMALL ? SHARES_SMALL : SHARES};
  moving.alone = coarse_graph->start[nodes] / moving.shares < ALONE;
  if (coarse_graph->total) moving.resolution = resolution / (double)coarse_graph->total;
  for (int64_t v = 0; v < nodes; v++) label[v] = (int32_t)v;
  memcpy(volume, coarse_graph->volume, (size_t)nodes * sizeof *volume);
  TRY(settle(&moving));
  *labels = renumber(nodes, label, next);
  return OK;
}

/* One level: labels into clusters, and the coarse graph they are the nodes of. */
static int add_level(struct coarse_graph *coarse_graph, double resolution, struct clusters *c) {
  int level = c->levels;
  int64_t nodes = coarse_graph->nodes, labels = 0;
  TRY(memory_arrays("clusters", ROOM(&c->of[level], nodes)));
  c->count[level] = nodes;
  c->levels++;
  TRY(label_nodes(coarse_graph, resolution, c->of[level], &labels));
  struct coarse_graph coarse = {0};
  int code = coarse_graph_contract(coarse_graph, c->of[level], labels, &coarse);
  coarse_graph_free(coarse_graph);
  *coarse_graph = coarse;
  TRY(code);
  c->count[level + 1] = labels;
  TRY(memory_arrays("clusters", ROOM(&c->volume[level], labels)));
  memcpy(c->volume[level], coarse.volume, (size_t)labels * sizeof *coarse.volume);
  return OK;
}

static int add_levels(struct coarse_graph *coarse_graph, struct clusters *c) {
  double resolution = RESOLUTION;
  do {
    TRY(add_level(coarse_graph, resolution, c));
    resolution *= COARSER;
  } while (c->levels < CLUSTER_LEVELS && coarse_graph->start[coarse_graph->nodes] > 0);
  return OK;
}

int clusters_find(struct coarse_graph *coarse_graph, struct clusters *clusters) {
  *clusters = (struct clusters){0};
  int code = add_levels(coarse_graph, clusters);
  coarse_graph_free(coarse_graph);
  return code;
}

void clusters_free(struct clusters *clusters) {
  for (int l = 0; l < CLUSTER_LEVELS; l++) {
    free_all(clusters->of[l], clusters->volume[l]);
  }
  *clusters = (struct clusters){0};
}
