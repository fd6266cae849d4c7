#include "partition/multilevel/dist_cluster.h"

#include "partition/graph/owners.h"
#include "runtime/base/base.h"

enum { ROUNDS = 12, FULL = -1, NO_LABEL = -2 };
static const double SETTLED = .05;

/* From round PATIENCE on, one in which almost as many move as in the one before is the last: where there are
 * no communities, nodes move for ever. */
enum { PATIENCE = 5 };
static const double ALMOST = .85;

/* A node of that size comes to a cluster; leaves it, where the size is negative; asks what room there is. */
struct wish {
  int32_t label;
  int64_t size;
};

/* A node's cluster, and what room it had when the node last heard of it. */
struct place {
  int32_t label, room;
};

struct clustering {
  const struct dist_graph *graph;
  const int64_t *size;
  int64_t most;
  struct place *place; /* [rows.nodes + ghosts] */
  int32_t *next;       /* [rows.nodes] */
  int64_t *held;       /* [rows.nodes] */
  struct wish *wish;   /* leaving since the last share, then coming */
  int32_t *mover, *answer;
  int64_t leaving;
};

static void clustering_free(struct clustering *c) {
  free_all(c->place, c->next, c->wish, c->mover, c->answer);
}

static int32_t room_of(const struct clustering *c, int64_t held) {
  return (int32_t)larger(smaller(c->most - held, INT32_MAX), 0);
}

/* The owner's part: all that leave, then by node those that come. */
static void let_in(const void *records, int64_t count, int32_t *answer, void *context) {
  struct clustering *c = context;
  const struct wish *wish = records;
  for (int64_t i = 0; i < count; i++)
    if (wish[i].size < 0) c->held[wish[i].label - c->graph->first] += wish[i].size;
  for (int64_t i = 0; i < count; i++) {
    int64_t *held = &c->held[wish[i].label - c->graph->first];
    if (wish[i].size < 0) continue;
    if (wish[i].size > 0 && *held + wish[i].size > c->most) {
      answer[i] = FULL;
      continue;
    }
    *held += wish[i].size;
    answer[i] = room_of(c, *held);
  }
}

static int ask(struct clustering *c, int64_t count) {
  const struct question question = {c->wish, sizeof *c->wish, count};
  return owners_ask(c->graph->comm, c->graph->nodes, question, let_in, c, c->answer);
}

/* The weights of the labels in a row: of its own, and of those that its nodes know room for it in. Places are
 * fetched in a loop of their own: they lie anywhere, and the fetches overlap. */
static void tally_places(const struct clustering *c, struct tally *t, int64_t v) {
  const struct coarse_graph *rows = &c->graph->rows;
  const int64_t first = rows->start[v], count = rows->start[v + 1] - first;
  tally_clear(t);
  for (int64_t e = 0; e < count; e++) {
    const struct place place = c->place[rows->col[first + e]];
    const int counts = place.label == c->place[v].label || place.room >= c->size[v];
    t->row[e] = counts ? place.label : NO_LABEL;
  }
  for (int64_t e = 0; e < count; e++)
    if (t->row[e] != NO_LABEL && rows->col[first + e] != v)
      tally_add(t, t->row[e], (double)rows->weight[first + e]);
}

/* The label with the largest weight; the present one when none is better; of equals the smallest. */
static void choose_label(struct tally *t, int64_t v, void *context) {
  const struct clustering *c = context;
  const int32_t own = c->place[v].label;
  int32_t best = own;
  double most = 0;
  tally_places(c, t, v);
  for (int64_t i = 0; i < t->count; i++)
    if (t->label[t->touched[i]] == own) most = t->sum[t->touched[i]];
  for (int64_t i = 0; i < t->count; i++) {
    const int32_t label = t->label[t->touched[i]];
    const double here = t->sum[t->touched[i]];
    if (label == own || here < most || (here <= most && (best == own || label > best))) continue;
    most = here;
    best = label;
  }
  c->next[v] = best;
}

/* Those that are let in leave the cluster they were in, whose owner hears of it before it lets others in. */
static int move(struct clustering *c, int share, int64_t *moved) {
  const int64_t nodes = c->graph->rows.nodes;
  int64_t coming = 0, left = 0;
  for (int64_t v = dist_graph_share(c->graph, share); v < nodes; v += DIST_SHARES) {
    if (c->next[v] == c->place[v].label) continue;
    c->wish[c->leaving + coming] = (struct wish){c->next[v], c->size[v]};
    c->mover[coming++] = (int32_t)v;
  }
  TRY(ask(c, c->leaving + coming));
  for (int64_t i = 0; i < coming; i++) {
    const int32_t v = c->mover[i], room = c->answer[c->leaving + i];
    if (room == FULL) continue;
    c->wish[left++] = (struct wish){c->place[v].label, -c->size[v]};
    c->place[v] = (struct place){c->next[v], room};
  }
  c->leaving = left;
  *moved += left;
  return dist_graph_fetch(c->graph, share, c->place, sizeof *c->place);
}

/* What room there is at the end of a round. */
static int hear_of_room(struct clustering *c) {
  const int64_t nodes = c->graph->rows.nodes;
  for (int64_t v = 0; v < nodes; v++) c->wish[c->leaving + v] = (struct wish){c->place[v].label, 0};
  TRY(ask(c, c->leaving + nodes));
  for (int64_t v = 0; v < nodes; v++) c->place[v].room = c->answer[c->leaving + v];
  c->leaving = 0;
  return dist_graph_fetch(c->graph, DIST_ALL, c->place, sizeof *c->place);
}

static int settle(struct clustering *c) {
  const struct dist_graph *g = c->graph;
  int64_t before = g->nodes;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t moved = 0;
    for (int share = 0; share < DIST_SHARES; share++) {
      TRY(dist_graph_decide(g, share, choose_label, c));
      TRY(move(c, share, &moved));
    }
    TRY(hear_of_room(c));
    TRY(comm_sum_int64(g->comm, &moved));
    if ((double)moved <= SETTLED * (double)g->nodes) return OK;
    if (round >= PATIENCE && (double)moved > ALMOST * (double)before) return OK;
    before = moved;
  }
  return OK;
}

static int begin(struct clustering *c) {
  const struct dist_graph *g = c->graph;
  const int64_t nodes = g->rows.nodes, share = nodes / DIST_SHARES + 1;
  TRY(memory_arrays("clusters", ROOM(&c->place, nodes + g->ghosts), ROOM(&c->next, nodes),
                    ROOM(&c->wish, share + nodes), ROOM(&c->mover, share), ROOM(&c->answer, share + nodes)));
  for (int64_t v = 0; v < nodes; v++) {
    c->held[v] = c->size[v];
    c->place[v] = (struct place){(int32_t)(g->first + v), room_of(c, c->held[v])};
  }
  return dist_graph_fetch(g, DIST_ALL, c->place, sizeof *c->place);
}

int dist_cluster(const struct dist_graph *g, const int64_t *size, int64_t most, int32_t *label,
                 int64_t *held) {
  ENDED_BY(clustering_free) struct clustering c = {.graph = g, .size = size, .most = most, .held = held};
  TRY(begin(&c));
  TRY(settle(&c));
  for (int64_t v = 0; v < g->rows.nodes; v++) label[v] = c.place[v].label;
  return OK;
}
