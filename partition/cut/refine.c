#include "partition/cut/refine.h"

#include "runtime/base/base.h"

enum { ROUNDS = 8, SHARES = 8, LOADS = 2 };
static const double SETTLED = .001; /* share of the nodes that may still move at the end */

struct refining {
  const struct coarse_graph *graph;
  const int64_t *weight[LOADS]; /* of nodes: count (NULL: 1), non-zeros */
  int64_t *load[LOADS], limit[LOADS];
  int parts;
  int32_t *part, *next;
};

static void refining_free(struct refining *r) {
  free_all(r->load[0], r->load[1], r->next);
}

static int64_t weight_of(const struct refining *r, int load, int64_t v) {
  return r->weight[load] ? r->weight[load][v] : 1;
}

static int refining_init(struct refining *r, double balance) {
  int64_t nodes = r->graph->nodes;
  TRY(memory_arrays("loads of parts", ROOM(&r->load[0], r->parts), ROOM(&r->load[1], r->parts),
                    ROOM(&r->next, nodes)));
  for (int l = 0; l < LOADS; l++) {
    int64_t sum = 0;
    for (int64_t v = 0; v < nodes; v++) {
      r->load[l][r->part[v]] += weight_of(r, l, v);
      sum += weight_of(r, l, v);
    }
    r->limit[l] = (int64_t)(balance * (double)sum / r->parts);
  }
  return OK;
}

/* Whether a part may take the node: within its limits, or where it relieves a fuller one. */
static int may_take(const struct refining *r, int64_t v, int32_t to) {
  int32_t from = r->part[v];
  for (int l = 0; l < LOADS; l++) {
    int64_t then = r->load[l][to] + weight_of(r, l, v);
    if (then > r->limit[l] && then >= r->load[l][from]) return 0;
  }
  return 1;
}

static int32_t best_part(const struct refining *r, struct tally *t, int64_t v) {
  int32_t own = r->part[v], best = own;
  float most = 0;
  tally_clear(t);
  tally_row(t, r->graph, v, r->part, -1);
  for (int64_t i = 0; i < t->count; i++)
    if (t->label[t->touched[i]] == own) most = t->sum[t->touched[i]];
  for (int64_t i = 0; i < t->count; i++) {
    int32_t part = t->label[t->touched[i]];
    float here = t->sum[t->touched[i]];
    if (part == own || here < most || (here <= most && (best == own || part > best))) continue;
    if (!may_take(r, v, part)) continue;
    most = here;
    best = part;
  }
  return best;
}

/* Every SHARES-th node decides, all from the same parts. */
static int decide(struct refining *r, int share, int64_t longest) {
  int code = OK;
#pragma omp parallel reduction(max : code)
  {
    struct tally tally = {0};
    code = tally_init(&tally, longest);
#pragma omp for schedule(dynamic, 256)
    for (int64_t v = share; v < r->graph->nodes; v += SHARES)
      if (code == OK) r->next[v] = best_part(r, &tally, v);
    tally_free(&tally);
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to refine parts of %lld nodes", (long long)r->graph->nodes);
  return OK;
}

/* One by one: a part may fill up. */
static int64_t move(struct refining *r, int share) {
  int64_t moved = 0;
  for (int64_t v = share; v < r->graph->nodes; v += SHARES) {
    int32_t from = r->part[v], to = r->next[v];
    if (from == to || !may_take(r, v, to)) continue;
    for (int l = 0; l < LOADS; l++) {
      r->load[l][from] -= weight_of(r, l, v);
      r->load[l][to] += weight_of(r, l, v);
    }
    r->part[v] = to;
    moved++;
  }
  return moved;
}

int refine_parts(const struct coarse_graph *graph, const int64_t *count, const int64_t *nnz, int parts,
                 double balance, int32_t *part) {
  ENDED_BY(refining_free)
  struct refining r = {.graph = graph, .weight = {count, nnz}, .parts = parts, .part = part};
  int64_t longest = coarse_graph_longest_row(graph);
  TRY(refining_init(&r, balance));
  for (int round = 0; round < ROUNDS; round++) {
    int64_t moved = 0;
    for (int share = 0; share < SHARES; share++) {
      TRY(decide(&r, share, longest));
      moved += move(&r, share);
    }
    if ((double)moved <= SETTLED * (double)graph->nodes) break;
  }
  return OK;
}
