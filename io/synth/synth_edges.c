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

/* Where each row begins when every drawn pair counts in both of its rows. */
static void count_rows(const struct synth_pairs *pairs, const struct synth_rows *rows) {
  int64_t *length = rows->start + 1;
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < pairs->lists; k++) {
    const struct synth_list *list = &pairs->list[k];
    for (const struct synth_pair *p = list->pair; p < list->pair + list->count; p++) {
      if (synth_rows_has(rows, p->u)) __atomic_fetch_add(&length[p->u - rows->first], 1, __ATOMIC_RELAXED);
      if (synth_rows_has(rows, p->v)) __atomic_fetch_add(&length[p->v - rows->first], 1, __ATOMIC_RELAXED);
    }
  }
  for (int64_t v = 0; v < rows->rows; v++) rows->start[v + 1] += rows->start[v];
}

static void put(const struct synth_rows *rows, int64_t *next, int32_t row, int32_t id) {
  if (!synth_rows_has(rows, row)) return;
  rows->id[__atomic_fetch_add(&next[row - rows->first], 1, __ATOMIC_RELAXED)] = id;
}

/* Threads race for places inside a row; sorting the row makes the result one again. */
static void scatter(const struct synth_pairs *pairs, const struct synth_rows *rows, int64_t *next) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < pairs->lists; k++) {
    const struct synth_list *list = &pairs->list[k];
    for (const struct synth_pair *p = list->pair; p < list->pair + list->count; p++) {
      put(rows, next, p->u, p->v);
      put(rows, next, p->v, p->u);
    }
  }
}

/* Sorts each row and drops duplicates; kept[v] = length that is left. */
static void sort_rows(const struct synth_rows *rows, int64_t *kept) {
  const int64_t *start = rows->start;
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < rows->rows; v++)
    kept[v] = sort_distinct(rows->id + start[v], start[v + 1] - start[v]);
}

/* Moves the rows together. */
static void compact(const struct synth_rows *rows, const int64_t *kept) {
  int64_t to = 0;
  for (int64_t v = 0; v < rows->rows; v++) {
    memmove(rows->id + to, rows->id + rows->start[v], (size_t)kept[v] * sizeof *rows->id);
    rows->start[v] = to;
    to += kept[v];
  }
  rows->start[rows->rows] = to;
}

int synth_edges_build(struct comm *comm, const struct synth_drawing *drawing, struct synth_rows *rows) {
  ENDED_BY(synth_pairs_free) struct synth_pairs pairs = {0};
  FREED int64_t *next = NULL;
  TRY(comm ? synth_pairs_exchange(comm, drawing, rows, &pairs) : synth_pairs_draw(drawing, rows, &pairs));
  TRY(memory_arrays("rows of the graph", ROOM(&rows->start, rows->rows + 1), ROOM(&next, rows->rows)));
  count_rows(&pairs, rows);
  TRY(memory_arrays("columns of the graph", ROOM(&rows->id, rows->start[rows->rows])));
  memcpy(next, rows->start, (size_t)rows->rows * sizeof *next);
  scatter(&pairs, rows, next);
  sort_rows(rows, next);
  compact(rows, next);
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
