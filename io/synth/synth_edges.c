#include "io/synth/synth_edges.h"

#include <math.h>

#include "runtime/base/base.h"

enum { SAMPLE = 1 << 17 };

/* Different pairs that `draws` draws leave on average, from a sample of probabilities (0: no edge). */
static double different_pairs(const double *probability, double draws) {
  double sum = 0;
  for (int64_t i = 0; i < SAMPLE; i++) {
    if (probability[i] > 0) sum += -expm1(-draws * probability[i]) / probability[i];
  }
  return sum / SAMPLE;
}

static int solve_draws(const double *probability, int64_t nodes, double wanted, int64_t *draws) {
  double low = wanted, high = 16 * wanted, room = different_pairs(probability, high);
  if (room < wanted) {
    FAIL(BAD_INPUT,
         "a mean degree of %g is more than this graph has room for; allowed: at most about %.4g with %lld "
         "nodes "
         "and these communities",
         2 * wanted / (double)nodes, 2 * room / (double)nodes, (long long)nodes);
  }
  while (high - low > 0.5 && high > low * (1 + 1e-9)) {
    double middle = low + (high - low) / 2;
    if (different_pairs(probability, middle) < wanted) {
      low = middle;
    } else {
      high = middle;
    }
  }
  *draws = llround(high);
  return OK;
}

int synth_edges_draws(const struct synth_model *model, int64_t nodes, double wanted, int64_t *draws) {
  FREED double *probability = NULL;
  TRY(memory_arrays("sample of edges", ROOM(&probability, SAMPLE)));
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < SAMPLE; e++) {
    struct synth_pair pair = model->draw(model->context, (uint64_t)e);
    probability[e] = pair.u == pair.v ? 0 : model->probability(model->context, pair);
  }
  return solve_draws(probability, nodes, wanted, draws);
}

static void draw_pairs(const struct synth_model *model, int64_t draws, const int32_t *new_id,
                       struct synth_pair *pair) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < draws; e++) {
    pair[e] = model->draw(model->context, (uint64_t)e);
    if (new_id) pair[e] = (struct synth_pair){new_id[pair[e].u], new_id[pair[e].v]};
  }
}

/* Where each row begins when every drawn pair counts in both of its rows. */
static void count_rows(const struct synth_pair *pair, int64_t draws, int64_t nodes, int64_t *start) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < draws; e++) {
    if (pair[e].u == pair[e].v) continue;
    __atomic_fetch_add(&start[pair[e].u + 1], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&start[pair[e].v + 1], 1, __ATOMIC_RELAXED);
  }
  for (int64_t v = 0; v < nodes; v++) start[v + 1] += start[v];
}

/* Threads race for places inside a row; sorting the row makes the result one again. */
static void scatter(const struct synth_pair *pair, int64_t draws, int64_t *next, int32_t *col) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < draws; e++) {
    if (pair[e].u == pair[e].v) continue;
    col[__atomic_fetch_add(&next[pair[e].u], 1, __ATOMIC_RELAXED)] = pair[e].v;
    col[__atomic_fetch_add(&next[pair[e].v], 1, __ATOMIC_RELAXED)] = pair[e].u;
  }
}

/* Sorts each row and drops duplicates; kept[v] = length that is left. */
static void sort_rows(int64_t nodes, const int64_t *start, int32_t *col, int64_t *kept) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < nodes; v++) kept[v] = sort_distinct(col + start[v], start[v + 1] - start[v]);
}

/* Moves the rows together. */
static void compact(int64_t nodes, int64_t *start, int32_t *col, const int64_t *kept) {
  int64_t to = 0;
  for (int64_t v = 0; v < nodes; v++) {
    memmove(col + to, col + start[v], (size_t)kept[v] * sizeof *col);
    start[v] = to;
    to += kept[v];
  }
  start[nodes] = to;
}

int synth_edges_build(const struct synth_model *model, int64_t nodes, int64_t draws, const int32_t *new_id,
                      int64_t **start, int32_t **col) {
  FREED struct synth_pair *pair = NULL;
  FREED int64_t *next = NULL;
  TRY(memory_arrays("rows of the graph", ROOM(start, nodes + 1), ROOM(&next, nodes)));
  TRY(memory_arrays("drawn edges", ROOM(&pair, draws)));
  draw_pairs(model, draws, new_id, pair);
  count_rows(pair, draws, nodes, *start);
  TRY(memory_arrays("columns of the graph", ROOM(col, (*start)[nodes])));
  memcpy(next, *start, (size_t)nodes * sizeof *next);
  scatter(pair, draws, next, *col);
  sort_rows(nodes, *start, *col, next);
  compact(nodes, *start, *col, next);
  return OK;
}

/* Of the quadrants (0,0), (0,1), (1,0), (1,1). */
static const double quadrant[4] = {0.57, 0.19, 0.19, 0.05};

void synth_rmat_init(struct synth_rmat *r, int64_t nodes, int64_t seed) {
  *r = (struct synth_rmat){.nodes = nodes, .key = random_key((uint64_t)seed, 0, 1, RANDOM_SYNTH_EDGE)};
  while (((int64_t)1 << r->levels) < nodes) r->levels++;
}

static int draw_quadrant(uint32_t word) {
  double unit = word * 0x1p-32, sum = 0;
  for (int q = 0; q < 3; q++) {
    sum += quadrant[q];
    if (unit < sum) return q;
  }
  return 3;
}

static struct synth_pair draw(const void *context, uint64_t edge) {
  const struct synth_rmat *r = context;
  struct philox_block block = {{0}};
  uint32_t u = 0, v = 0;
  for (int level = 0; level < r->levels; level++) {
    if (level % 4 == 0) block = random_block(r->key, edge, (uint64_t)level / 4);
    int q = draw_quadrant(block.word[level % 4]);
    u = u << 1 | (uint32_t)(q >> 1);
    v = v << 1 | (uint32_t)(q & 1);
  }
  if (u >= r->nodes || v >= r->nodes) return (struct synth_pair){0, 0};
  return (struct synth_pair){(int32_t)u, (int32_t)v};
}

/* Both orders are equally likely: the quadrants (0,1) and (1,0) are. */
static double probability(const void *context, struct synth_pair pair) {
  const struct synth_rmat *r = context;
  double product = 2;
  for (int level = 0; level < r->levels; level++) {
    product *= quadrant[(pair.u >> level & 1) << 1 | (pair.v >> level & 1)];
  }
  return product;
}

struct synth_model synth_rmat_model(const struct synth_rmat *r) {
  return (struct synth_model){.context = r, .draw = draw, .probability = probability};
}
