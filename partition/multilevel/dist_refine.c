/* Parts that many of a node's arcs lead to take it. */
#include "partition/multilevel/dist_parts.h"
#include "runtime/base/base.h"

enum { ROUNDS = 8 };
static const double SETTLED = .001; /* share of the nodes that may still move at the end */

/* Whether a part may take the node when others come before it: within its limits, or where it relieves a
 * fuller one. before NULL: none do. */
static int may_take(const struct dist_parts *p, int64_t v, int32_t to, const int64_t *before) {
  for (int l = 0; l < PART_LOADS; l++) {
    int64_t then = dist_parts_load(p, to, l) + dist_parts_weight(p, l, v);
    if (before) then += before[(int64_t)to * PART_LOADS + l];
    if (then > p->limit[l] && then >= dist_parts_load(p, p->part[v], l)) return 0;
  }
  return 1;
}

static void choose_part(struct tally *t, int64_t v, void *context) {
  const struct dist_parts *p = context;
  const int32_t own = p->part[v];
  int32_t best = own;
  double most = 0;
  tally_clear(t);
  tally_row(t, &p->graph->rows, v, p->part, -1);
  for (int64_t i = 0; i < t->count; i++)
    if (t->label[t->touched[i]] == own) most = t->sum[t->touched[i]];
  for (int64_t i = 0; i < t->count; i++) {
    const int32_t part = t->label[t->touched[i]];
    const double here = t->sum[t->touched[i]];
    if (part == own || here < most || (here <= most && (best == own || part > best))) continue;
    if (!may_take(p, v, part, NULL)) continue;
    most = here;
    best = part;
  }
  p->next[v] = best;
}

int dist_parts_refine(struct dist_parts *p) {
  for (int round = 0; round < ROUNDS; round++) {
    int64_t moved = 0;
    for (int share = 0; share < DIST_SHARES; share++) {
      TRY(dist_graph_decide(p->graph, share, choose_part, p));
      TRY(dist_parts_move(p, share, may_take, &moved));
    }
    TRY(comm_sum_int64(p->graph->comm, &moved));
    if ((double)moved <= SETTLED * (double)p->graph->nodes) break;
  }
  return OK;
}
