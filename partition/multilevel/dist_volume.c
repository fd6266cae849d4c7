/* Nodes move where fewer rows are sent. */
#include "partition/multilevel/dist_parts.h"
#include "runtime/base/base.h"

/* Parts are bits. A node looks at the parts that most of its arcs lead to, at so many. */
enum { MOST_PARTS = 64, CANDIDATES = 4, ROUNDS = 4 };
static const double SETTLED = .005; /* share of the rows that the last round saves */

struct neighbour_parts {
  struct dist_parts *parts;
  uint64_t *seen, *once; /* [rows.nodes + ghosts] parts where a node has neighbours; exactly one */
};

static void neighbour_parts_free(struct neighbour_parts *s) {
  free_all(s->seen, s->once);
}

static uint64_t all_parts(const struct dist_parts *p) {
  return UINT64_MAX >> (MOST_PARTS - p->parts);
}

/* A node that speaks by a sample of its arcs has neighbours in all parts, and in none a single one. */
static void note(const struct neighbour_parts *s, int64_t v) {
  const struct dist_parts *p = s->parts;
  const struct coarse_graph *rows = &p->graph->rows;
  uint64_t seen = 0, again = 0;
  for (int64_t e = rows->start[v]; e < rows->start[v + 1]; e++) {
    const uint64_t bit = (uint64_t)1 << p->part[rows->col[e]];
    if (rows->col[e] == v) continue;
    again |= seen & bit;
    seen |= bit;
  }
  if (rows->share[v] > 1) seen = again = UINT64_MAX;
  s->seen[v] = seen;
  s->once[v] = seen & ~again;
}

/* *sent: rows that all parts receive. */
static int note_all(const struct neighbour_parts *s, int64_t *sent) {
  const struct dist_parts *p = s->parts;
  const struct dist_graph *g = p->graph;
  int64_t rows = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : rows)
  for (int64_t v = 0; v < g->rows.nodes; v++) {
    note(s, v);
    rows += __builtin_popcountll(s->seen[v] & all_parts(p) & ~((uint64_t)1 << p->part[v]));
  }
  *sent = rows;
  TRY(comm_sum_int64(g->comm, sent));
  TRY(dist_graph_fetch(g, DIST_ALL, s->seen, sizeof *s->seen));
  return dist_graph_fetch(g, DIST_ALL, s->once, sizeof *s->once);
}

/* Rows less that are sent if v moves to part `to`: its own to parts, and those of its neighbours to both. */
static int64_t gain(const struct neighbour_parts *s, int64_t v, int32_t to) {
  const struct dist_parts *p = s->parts;
  const struct coarse_graph *rows = &p->graph->rows;
  const int32_t from = p->part[v];
  int64_t rows_less = (int64_t)(s->seen[v] >> to & 1) - (int64_t)(s->seen[v] >> from & 1);
  for (int64_t e = rows->start[v]; e < rows->start[v + 1]; e++) {
    const int64_t u = rows->col[e];
    if (u == v) continue;
    rows_less += p->part[u] != from && s->once[u] >> from & 1;
    rows_less -= p->part[u] != to && !(s->seen[u] >> to & 1);
  }
  return rows_less;
}

static int may_take(const struct dist_parts *p, int64_t v, int32_t to, const int64_t *before) {
  for (int l = 0; l < PART_LOADS; l++) {
    const int64_t earlier = before ? before[(int64_t)to * PART_LOADS + l] : 0;
    if (dist_parts_load(p, to, l) + earlier + dist_parts_weight(p, l, v) > p->limit[l]) return 0;
  }
  return 1;
}

/* The part with most weight in the tally that may take v and has not been looked at; -1: none. */
static int32_t heaviest(const struct dist_parts *p, const struct tally *t, int64_t v, uint64_t looked_at) {
  int32_t best = -1;
  double most = 0;
  for (int64_t i = 0; i < t->count; i++) {
    const int32_t part = t->label[t->touched[i]];
    const double here = t->sum[t->touched[i]];
    if (looked_at >> part & 1 || here < most || (here <= most && best >= 0 && part > best)) continue;
    if (!may_take(p, v, part, NULL)) continue;
    most = here;
    best = part;
  }
  return best;
}

static void choose_part(struct tally *t, int64_t v, void *context) {
  const struct neighbour_parts *s = context;
  const struct dist_parts *p = s->parts;
  uint64_t looked_at = (uint64_t)1 << p->part[v];
  int64_t most = 0;
  p->next[v] = p->part[v];
  if ((s->seen[v] & ~looked_at) == 0) return;
  tally_clear(t);
  tally_row(t, &p->graph->rows, v, p->part, -1);
  for (int i = 0; i < CANDIDATES; i++) {
    const int32_t part = heaviest(p, t, v, looked_at);
    if (part < 0) return;
    looked_at |= (uint64_t)1 << part;
    const int64_t here = gain(s, v, part);
    if (here <= most) continue;
    most = here;
    p->next[v] = part;
  }
}

int dist_parts_lessen_volume(struct dist_parts *p) {
  const struct dist_graph *g = p->graph;
  ENDED_BY(neighbour_parts_free) struct neighbour_parts s = {.parts = p};
  int64_t sent = 0, before = INT64_MAX;
  if (p->parts > MOST_PARTS) return OK;
  TRY(memory_arrays("parts of neighbours", ROOM(&s.seen, g->rows.nodes + g->ghosts),
                    ROOM(&s.once, g->rows.nodes + g->ghosts)));
  for (int round = 0; round < ROUNDS; round++) {
    int64_t moved = 0;
    TRY(note_all(&s, &sent));
    if ((double)(before - sent) < SETTLED * (double)sent) break;
    before = sent;
    for (int share = 0; share < DIST_SHARES; share++) {
      TRY(dist_graph_decide(g, share, choose_part, &s));
      TRY(dist_parts_move(p, share, may_take, &moved));
    }
  }
  return OK;
}
