#include "partition/graph/balance.h"

#include "runtime/base/base.h"

enum load { NODES, NONZEROS, LOADS };
enum { SWEEPS = 10 };

struct candidate {
  double price; /* edges lost to its part for each unit of relief */
  int32_t node;
};

struct balance {
  const struct csr *pattern;
  const int64_t *count, *nnz; /* count NULL: 1 */
  int parts;
  int32_t *part;
  int64_t *load[LOADS], limit[LOADS]; /* [parts] */
  int64_t *near;                      /* [parts] neighbours of a node in each part; 0 between nodes */
  int *touched, touches;              /* [parts] parts with neighbours of that node */
  int *light;                         /* [parts] all parts, those of fewest nodes first */
  struct candidate *candidate;        /* [nodes] */
};

static void balance_free(struct balance *b) {
  free_all(b->load[NODES], b->load[NONZEROS], b->near, b->touched, b->light, b->candidate);
}

static int64_t weight(const struct balance *b, enum load load, int64_t v) {
  return load == NONZEROS ? b->nnz[v] : b->count ? b->count[v] : 1;
}

static int balance_init(struct balance *b, double balance) {
  int64_t nodes = b->pattern->rows;
  TRY(memory_arrays("balance of parts", ROOM(&b->near, b->parts), ROOM(&b->touched, b->parts),
                    ROOM(&b->light, b->parts), ROOM(&b->candidate, nodes), ROOM(&b->load[NODES], b->parts),
                    ROOM(&b->load[NONZEROS], b->parts)));
  for (int p = 0; p < b->parts; p++) b->light[p] = p;
  for (int l = 0; l < LOADS; l++) {
    int64_t sum = 0, heaviest = 0;
    for (int64_t v = 0; v < nodes; v++) {
      const int64_t mine = weight(b, (enum load)l, v);
      b->load[l][b->part[v]] += mine;
      heaviest = larger(heaviest, mine);
      sum += mine;
    }
    b->limit[l] = larger((int64_t)(balance * (double)sum / b->parts), (sum + b->parts - 1) / b->parts);
    b->limit[l] = larger(b->limit[l], heaviest);
  }
  return OK;
}

static double overload(const struct balance *b, enum load load, int part, int64_t more) {
  int64_t over = b->load[load][part] + more - b->limit[load];
  return over > 0 ? (double)over / (double)b->limit[load] : 0;
}

/* How much the sum of all overloads shrinks when v moves to part `to`. Nodes of few non-zeros go where
 * non-zeros are too many, and hubs come back, until both fit. */
static double relief(const struct balance *b, int64_t v, int to) {
  double sum = 0;
  int from = b->part[v];
  for (int l = 0; l < LOADS; l++) {
    enum load load = (enum load)l;
    int64_t w = weight(b, load, v);
    sum += overload(b, load, from, 0) - overload(b, load, from, -w);
    sum += overload(b, load, to, 0) - overload(b, load, to, w);
  }
  return sum;
}

static void count_near(struct balance *b, int64_t v) {
  for (int64_t e = b->pattern->start[v]; e < b->pattern->start[v + 1]; e++) {
    int p = b->part[b->pattern->col[e]];
    if (b->near[p]++ == 0) b->touched[b->touches++] = p;
  }
}

static void forget_near(struct balance *b) {
  while (b->touches > 0) b->near[b->touched[--b->touches]] = 0;
}

/* Whether p goes before q among parts with as many neighbours: fewer nodes, then the lower number. */
static int is_lighter(const struct balance *b, int p, int q) {
  int64_t more = b->load[NODES][p] - b->load[NODES][q];
  return more < 0 || (more == 0 && p < q);
}

/* Moves one or two parts whose loads have changed to their places. */
static void sort_light(struct balance *b) {
  for (int i = 1; i < b->parts; i++) {
    int p = b->light[i], at = i;
    for (; at > 0 && is_lighter(b, p, b->light[at - 1]); at--) b->light[at] = b->light[at - 1];
    b->light[at] = p;
  }
}

/* Of the parts with neighbours of v those that relieve, the one with most; -1: none. */
static int best_near(const struct balance *b, int64_t v) {
  int best = -1;
  for (int i = 0; i < b->touches; i++) {
    int p = b->touched[i];
    if (p == b->part[v] || relief(b, v, p) <= 0) continue;
    int64_t more = best < 0 ? 1 : b->near[p] - b->near[best];
    if (more > 0 || (more == 0 && is_lighter(b, p, best))) best = p;
  }
  return best;
}

/* Where v should move: of the parts where that relieves, the one with most neighbours of v, the lightest of
 * equals; -1: none. *price: edges lost to its own part less those won, for each unit of relief. There may be
 * thousands of parts, of which the first few of the lightest will do where v has no neighbour. */
static int best_part(struct balance *b, int64_t v, double *price) {
  int own = b->part[v];
  count_near(b, v);
  int best = best_near(b, v);
  for (int i = 0; i < b->parts && best < 0; i++) {
    int p = b->light[i];
    if (p != own && relief(b, v, p) > 0) best = p;
  }
  if (best >= 0) *price = (double)(b->near[own] - b->near[best]) / relief(b, v, best);
  forget_near(b);
  return best;
}

static int by_price(const void *left, const void *right) {
  const struct candidate *a = left, *b = right;
  return a->price != b->price ? COMPARE(a->price, b->price) : COMPARE(a->node, b->node);
}

static int overloaded(const struct balance *b, int part) {
  return b->load[NODES][part] > b->limit[NODES] || b->load[NONZEROS][part] > b->limit[NONZEROS];
}

static void move(struct balance *b, int64_t v, int to) {
  for (int l = 0; l < LOADS; l++) {
    b->load[l][b->part[v]] -= weight(b, (enum load)l, v);
    b->load[l][to] += weight(b, (enum load)l, v);
  }
  b->part[v] = to;
  sort_light(b);
}

/* Moves nodes out of `part` until its loads are inside their limits; returns how many moved. */
static int64_t relieve(struct balance *b, int part) {
  int64_t count = 0, moved = 0;
  double price = 0;
  for (int64_t v = 0; v < b->pattern->rows; v++) {
    if (b->part[v] != part || best_part(b, v, &price) < 0) continue;
    b->candidate[count++] = (struct candidate){price, (int32_t)v};
  }
  qsort(b->candidate, (size_t)count, sizeof *b->candidate, by_price);
  for (int64_t i = 0; i < count && overloaded(b, part); i++) {
    int64_t v = b->candidate[i].node;
    int to = best_part(b, v, &price); /* earlier moves may have filled the part it had in mind */
    if (to < 0) continue;
    move(b, v, to);
    moved++;
  }
  return moved;
}

static void sweep_parts(struct balance *b) {
  int64_t moved = 1;
  for (int sweep = 0; sweep < SWEEPS && moved; sweep++) {
    moved = 0;
    for (int p = 0; p < b->parts; p++)
      if (overloaded(b, p)) moved += relieve(b, p);
  }
}

int balance_parts(const struct csr *pattern, const int64_t *count, const int64_t *nnz, int parts,
                  double balance, int32_t *part) {
  ENDED_BY(balance_free)
  struct balance b = {.pattern = pattern, .count = count, .nnz = nnz, .parts = parts, .part = part};
  TRY(balance_init(&b, balance));
  sort_light(&b);
  sweep_parts(&b);
  return OK;
}

/* Entries of a row that may move, and of one that is looked at; parts that are tried; rounds over all. */
enum { MOVES_AT_MOST = 64, COUNTED_AT_MOST = 256, TRIED = 4, ROUNDS = 8 };

/* Where v could move, and how many rows the new part would then receive in addition; left: how many its own
 * part would no longer receive. */
struct trial {
  int to[TRIED], tried;
  int64_t more[TRIED], left;
};

static int64_t entries_of(const struct csr *m, int64_t v) {
  return m->start[v + 1] - m->start[v];
}

static int fits(const struct balance *b, int64_t v, int to) {
  return b->load[NODES][to] + weight(b, NODES, v) <= b->limit[NODES] &&
         b->load[NONZEROS][to] + weight(b, NONZEROS, v) <= b->limit[NONZEROS];
}

static int is_tried(const struct trial *t, int p) {
  int found = 0;
  for (int k = 0; k < t->tried; k++) found |= t->to[k] == p;
  return found;
}

/* The parts with most neighbours of v that have room for it. */
static void choose_parts(const struct balance *b, int64_t v, struct trial *t) {
  for (int best = 0; t->tried < TRIED && best >= 0;) {
    best = -1;
    for (int i = 0; i < b->touches; i++) {
      const int p = b->touched[i];
      if (p == b->part[v] || is_tried(t, p) || !fits(b, v, p)) continue;
      const int64_t more = best < 0 ? 1 : b->near[p] - b->near[best];
      if (more > 0 || (more == 0 && is_lighter(b, p, best))) best = p;
    }
    if (best >= 0) t->to[t->tried++] = best;
  }
}

/* The row of v's neighbour u: its own part needs it no longer if v was the only one there, the other part
 * does if v is the first. */
static void count_neighbour(const struct balance *b, int64_t v, int64_t u, struct trial *t) {
  const struct csr *m = b->pattern;
  int mine = 0, has[TRIED] = {0};
  if (entries_of(m, u) > COUNTED_AT_MOST) return;
  for (int64_t e = m->start[u]; e < m->start[u + 1]; e++) {
    const int p = b->part[m->col[e]];
    mine += p == b->part[v];
    for (int k = 0; k < t->tried; k++) has[k] |= p == t->to[k];
  }
  t->left += b->part[u] != b->part[v] && mine == 1;
  for (int k = 0; k < t->tried; k++) t->more[k] += b->part[u] != t->to[k] && !has[k];
}

/* Returns the rows that are saved by moving v, which stays where that saves none and evens nothing out. */
static int64_t try_moves(struct balance *b, int64_t v) {
  const struct csr *m = b->pattern;
  const int own = b->part[v];
  struct trial t = {.tried = 0};
  int best = 0;
  choose_parts(b, v, &t);
  for (int k = 0; k < t.tried; k++) t.more[k] = (b->near[own] > 0) - (b->near[t.to[k]] > 0); /* v's own row */
  for (int64_t e = m->start[v]; t.tried > 0 && e < m->start[v + 1]; e++) count_neighbour(b, v, m->col[e], &t);
  for (int k = 1; k < t.tried; k++)
    if (t.more[k] < t.more[best]) best = k;
  if (t.tried == 0 || t.more[best] > t.left) return 0;
  const int to = t.to[best];
  if (t.more[best] == t.left && b->load[NODES][to] + weight(b, NODES, v) >= b->load[NODES][own]) return 0;
  move(b, v, to);
  return t.left - t.more[best];
}

static int64_t go_round(struct balance *b) {
  int64_t saved = 0;
  for (int64_t v = 0; v < b->pattern->rows; v++) {
    const int is_last = b->load[NODES][b->part[v]] <= weight(b, NODES, v); /* parts do not become empty */
    if (is_last || entries_of(b->pattern, v) > MOVES_AT_MOST) continue;
    count_near(b, v);
    if (b->touches > (b->near[b->part[v]] > 0)) saved += try_moves(b, v);
    forget_near(b);
  }
  return saved;
}

int balance_lessen_rows(const struct csr *pattern, const int64_t *nnz, int parts, double balance,
                        int32_t *part, int64_t *saved) {
  ENDED_BY(balance_free)
  struct balance b = {.pattern = pattern, .nnz = nnz, .parts = parts, .part = part};
  int64_t now = 1;
  *saved = 0;
  TRY(balance_init(&b, balance));
  sort_light(&b);
  for (int round = 0; round < ROUNDS && now > 0; round++) *saved += now = go_round(&b);
  return OK;
}
