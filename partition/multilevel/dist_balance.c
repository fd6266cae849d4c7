/* Parts above their limits give nodes away. */
#include <math.h>

#include "partition/multilevel/dist_parts.h"
#include "runtime/base/base.h"

/* Prices are told apart by their power of 2; the first class is of those that cost nothing. */
enum { SWEEPS = 20, PRICES = 64, CHEAPEST = -12 };

struct balancing {
  struct dist_parts *parts;
  uint8_t *price;   /* [rows.nodes] class of what leaving costs, of nodes with p->next of their own */
  int64_t *offered; /* [parts * PRICES * PART_LOADS] what nodes of all ranks would take along, by price */
  int *dearest;     /* [parts] the last price at which nodes still go */
  int64_t *excess;  /* [parts * PART_LOADS] what those of that price have to take along */
  int32_t *light;   /* [parts] those of fewest nodes first */
};

static void balancing_free(struct balancing *b) {
  free_all(b->price, b->offered, b->dearest, b->excess, b->light);
}

static int64_t over(const struct dist_parts *p, int part, int load, int64_t more) {
  return larger(dist_parts_load(p, part, load) + more - p->limit[load], 0);
}

static int is_over(const struct dist_parts *p, int part) {
  return over(p, part, PART_NODES, 0) > 0 || over(p, part, PART_NONZEROS, 0) > 0;
}

/* How much the sum of all overloads shrinks, in limits, when v moves to part `to`, behind what comes before.
 * Nodes of few non-zeros go where non-zeros are too many, and hubs come back, until both fit. */
static double relief(const struct dist_parts *p, int64_t v, int to, const int64_t *before) {
  double sum = 0;
  for (int l = 0; l < PART_LOADS; l++) {
    const int64_t w = dist_parts_weight(p, l, v), from = p->part[v];
    const int64_t earlier = before ? before[(int64_t)to * PART_LOADS + l] : 0;
    int64_t less = over(p, (int)from, l, 0) - over(p, (int)from, l, -w);
    less += over(p, to, l, earlier) - over(p, to, l, earlier + w);
    sum += (double)less / (double)larger(p->limit[l], 1);
  }
  return sum;
}

/* Whether a part has room for v behind what comes before. */
static int fits(const struct dist_parts *p, int64_t v, int to, const int64_t *before) {
  for (int l = 0; l < PART_LOADS; l++) {
    const int64_t earlier = before ? before[(int64_t)to * PART_LOADS + l] : 0;
    if (over(p, to, l, earlier + dist_parts_weight(p, l, v)) > 0) return 0;
  }
  return 1;
}

/* Whether v may go there; roomy: without another overload in place of the one that it leaves. */
static int may_take(const struct dist_parts *p, int64_t v, int to, int roomy, const int64_t *before) {
  return to != p->part[v] && (!roomy || fits(p, v, to, before)) && relief(p, v, to, before) > 0;
}

/* Of the parts in a row's tally that may take v, the one with most weight; else the lightest; -1: none. */
static int best_of(const struct balancing *b, const struct tally *t, int64_t v, int roomy, double *most) {
  const struct dist_parts *p = b->parts;
  int best = -1;
  *most = 0;
  for (int64_t i = 0; i < t->count; i++) {
    const int part = t->label[t->touched[i]];
    const double here = t->sum[t->touched[i]];
    if (here < *most || (here <= *most && part > best) || !may_take(p, v, part, roomy, NULL)) continue;
    *most = here;
    best = part;
  }
  for (int i = 0; i < p->parts && best < 0; i++)
    if (may_take(p, v, b->light[i], roomy, NULL)) best = b->light[i];
  return best;
}

/* Where v should go, and the weight of arcs that its part loses less what that one wins. */
static int best_part(const struct balancing *b, struct tally *t, int64_t v, double *lost) {
  const struct dist_parts *p = b->parts;
  double most;
  *lost = 0;
  tally_clear(t);
  tally_row(t, &p->graph->rows, v, p->part, -1);
  for (int64_t i = 0; i < t->count; i++)
    if (t->label[t->touched[i]] == p->part[v]) *lost = t->sum[t->touched[i]];
  int best = best_of(b, t, v, 1, &most);
  if (best < 0) best = best_of(b, t, v, 0, &most);
  *lost -= most;
  return best;
}

static uint8_t price_of(double lost, double relieved) {
  const int power = lost > 0 ? ilogb(lost / relieved) - CHEAPEST : 0;
  return (uint8_t)smaller(larger(power, lost > 0), PRICES - 1);
}

/* Where a node of a full part would go. */
static void choose_part(struct tally *t, int64_t v, void *context) {
  struct balancing *b = context;
  struct dist_parts *p = b->parts;
  double lost;
  p->next[v] = p->part[v];
  if (!is_over(p, p->part[v])) return;
  const int to = best_part(b, t, v, &lost);
  if (to < 0) return;
  p->next[v] = to;
  b->price[v] = price_of(lost, relief(p, v, to, NULL));
}

static int64_t *offered(const struct balancing *b, int part, int price) {
  return b->offered + ((int64_t)part * PRICES + price) * PART_LOADS;
}

/* The prices at which each part is relieved of all it has too much. */
static int set_prices(struct balancing *b) {
  const struct dist_parts *p = b->parts;
  const int64_t offers = (int64_t)p->parts * PRICES * PART_LOADS;
  memset(b->offered, 0, (size_t)offers * sizeof *b->offered);
  for (int64_t v = 0; v < p->graph->rows.nodes; v++)
    for (int l = 0; p->next[v] != p->part[v] && l < PART_LOADS; l++)
      offered(b, p->part[v], b->price[v])[l] += dist_parts_weight(p, l, v);
  TRY(comm_reduce(p->graph->comm, b->offered, offers, NUMBER_INT64, REDUCE_SUM));
  for (int part = 0; part < p->parts; part++) {
    int64_t *excess = b->excess + (int64_t)part * PART_LOADS;
    int price = 0;
    for (int l = 0; l < PART_LOADS; l++) excess[l] = over(p, part, l, 0);
    for (; price < PRICES - 1; price++) {
      const int64_t *here = offered(b, part, price);
      if (excess[PART_NODES] <= here[PART_NODES] && excess[PART_NONZEROS] <= here[PART_NONZEROS]) break;
      for (int l = 0; l < PART_LOADS; l++) excess[l] = larger(excess[l] - here[l], 0);
    }
    b->dearest[part] = price;
  }
  return OK;
}

/* Of those at the last price the first go, over all ranks, until enough is taken along. */
static int choose(struct balancing *b) {
  struct dist_parts *p = b->parts;
  const int64_t nodes = p->graph->rows.nodes;
  for (int64_t v = 0; v < nodes; v++)
    if (p->next[v] != p->part[v] && b->price[v] == b->dearest[p->part[v]])
      dist_parts_add(p, p->coming, p->part[v], v, 1);
  TRY(dist_parts_before(p));
  for (int64_t v = 0; v < nodes; v++) {
    const int from = p->part[v];
    if (p->next[v] == from || b->price[v] < b->dearest[from]) continue;
    const int64_t *gone = p->before + (int64_t)from * PART_LOADS,
                  *excess = b->excess + (int64_t)from * PART_LOADS;
    const int stays = b->price[v] > b->dearest[from] || (gone[PART_NODES] >= excess[PART_NODES] &&
                                                         gone[PART_NONZEROS] >= excess[PART_NONZEROS]);
    if (b->price[v] == b->dearest[from]) dist_parts_add(p, p->before, from, v, 1);
    if (stays) p->next[v] = from;
  }
  return OK;
}

/* One that had room for the node when it chose must have it behind the others, too. */
static int may_enter(const struct dist_parts *p, int64_t v, int32_t to, const int64_t *before) {
  return may_take(p, v, to, fits(p, v, to, NULL), before);
}

static void sort_light(const struct balancing *b) {
  const struct dist_parts *p = b->parts;
  for (int i = 0; i < p->parts; i++) {
    int at = i;
    for (; at > 0 && dist_parts_load(p, b->light[at - 1], PART_NODES) > dist_parts_load(p, i, PART_NODES);
         at--)
      b->light[at] = b->light[at - 1];
    b->light[at] = i;
  }
}

static int any_over(const struct dist_parts *p) {
  for (int part = 0; part < p->parts; part++)
    if (is_over(p, part)) return 1;
  return 0;
}

int dist_parts_balance(struct dist_parts *p) {
  const int64_t nodes = p->graph->rows.nodes;
  ENDED_BY(balancing_free) struct balancing b = {.parts = p};
  if (!any_over(p)) return OK;
  TRY(memory_arrays("balance of parts", ROOM(&b.price, nodes), ROOM(&b.dearest, p->parts),
                    ROOM(&b.offered, (int64_t)p->parts * PRICES * PART_LOADS),
                    ROOM(&b.excess, (int64_t)p->parts * PART_LOADS), ROOM(&b.light, p->parts)));
  int64_t moved = 1;
  for (int sweep = 0; sweep < SWEEPS && moved && any_over(p); sweep++) {
    moved = 0;
    sort_light(&b);
    TRY(dist_graph_decide(p->graph, DIST_ALL, choose_part, &b));
    TRY(set_prices(&b));
    TRY(choose(&b));
    TRY(dist_parts_move(b.parts, DIST_ALL, may_enter, &moved));
    TRY(comm_sum_int64(p->graph->comm, &moved));
  }
  return OK;
}
