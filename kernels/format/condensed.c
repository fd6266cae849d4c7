#include "kernels/format/condensed.h"

#include <math.h>

#include "kernels/format/tiles.h"
#include "runtime/base/base.h"

/* A set of columns that is emptied in ascending order, in time that hardly depends on how many there could
 * be: a bit a column, and a bit a word of those. */
struct collector {
  uint64_t *there, *words;
  int64_t word_words;
  int32_t *list; /* [cols] the set in order */
  int32_t *cell; /* [segments] entries of the cells of 128 rows */
  int64_t cells;
  struct condensing condensing;
  int32_t *times; /* [cols] of vectors: entries of each column, zeros between windows */
  int64_t arcs;   /* that were looked at for vectors */
  struct window_choice taken;
};

struct count {
  const struct csr *m;
  int threads;
  int64_t windows; /* what a thread takes at a time */
  int64_t least, every;
  struct condensing *condensing; /* of whole windows, or */
  struct window_choice *taken;   /* of vectors of so many entries */
  int64_t threshold;
  int64_t arcs;
};

static int collector_init(const struct count *count, struct collector *c) {
  int64_t cols = count->m->cols, words = cols / 64 + 1;
  c->word_words = words / 64 + 1;
  c->cells = cols / TILE_COLS + 1;
  return memory_arrays("columns of a window", ROOM(&c->there, words), ROOM(&c->words, c->word_words),
                       ROOM(&c->list, cols + 1), ROOM(&c->cell, c->cells),
                       ROOM(&c->times, count->taken ? cols + 1 : 1));
}

static void collector_free(struct collector *c) {
  free_all(c->there, c->words, c->list, c->cell, c->times);
}

static void insert(struct collector *c, int32_t col) {
  c->there[col / 64] |= (uint64_t)1 << col % 64;
  c->words[col / 4096] |= (uint64_t)1 << col / 64 % 64;
}

static int64_t take_lowest(uint64_t *set) {
  int64_t lowest = __builtin_ctzll(*set);
  *set &= *set - 1;
  return lowest;
}

/* Empties the set into list; returns how many there were. */
static int64_t drain(struct collector *c) {
  int64_t count = 0;
  for (int64_t w = 0; w < c->word_words; w++) {
    while (c->words[w]) {
      int64_t word = w * 64 + take_lowest(&c->words[w]);
      while (c->there[word]) c->list[count++] = (int32_t)(word * 64 + take_lowest(&c->there[word]));
    }
  }
  return count;
}

static int64_t window_end(const struct csr *m, int64_t w) {
  return smaller((w + 1) * CONDENSED_ROWS, m->rows);
}

/* Columns of rows [first, end), a window of vectors, that have entries enough. */
static void count_vectors(const struct count *count, int64_t first, int64_t end, struct collector *c) {
  const struct csr *m = count->m;
  int64_t taken = 0, arcs = 0;
  for (int64_t e = m->start[first]; e < m->start[end]; e++) {
    insert(c, m->col[e]);
    c->times[m->col[e]]++;
  }
  int64_t columns = drain(c);
  for (int64_t i = 0; i < columns; i++) {
    int32_t *times = &c->times[c->list[i]];
    taken += *times >= count->threshold;
    arcs += *times >= count->threshold ? *times : 0;
    *times = 0;
  }
  c->arcs += m->start[end] - m->start[first];
  c->taken.windows += taken > 0;
  c->taken.columns += taken;
  c->taken.blocks += blocks_of_side(taken, VECTOR_ROWS);
  c->taken.arcs += arcs;
}

/* Entries of a 16-row window that are in no tile, and their columns. */
static void count_window(const struct count *count, int64_t w, struct collector *c) {
  const struct csr *m = count->m;
  int64_t arcs = 0, before = 0;
  for (int64_t e = m->start[w * CONDENSED_ROWS]; e < m->start[window_end(m, w)]; e++) {
    int32_t col = m->col[e];
    if (count->least <= TILE_CELLS && c->cell[col / TILE_COLS] >= count->least) continue;
    insert(c, col);
    arcs++;
  }
  int64_t columns = drain(c);
  for (int64_t i = 0; i < columns; i++)
    before += i == 0 || c->list[i] / CONDENSED_COLS != c->list[i - 1] / CONDENSED_COLS;
  if (arcs > 0) condensing_window(&c->condensing, arcs, columns, before);
}

/* A window of 128 rows, as tiles have them. */
static void count_rows(const struct count *count, int64_t at, struct collector *c) {
  enum { HEIGHT = TILE_ROWS / CONDENSED_ROWS };
  const struct csr *m = count->m;
  int64_t tall = at * count->every, first = tall * TILE_ROWS, end = smaller(first + TILE_ROWS, m->rows);
  int64_t windows = (m->rows + CONDENSED_ROWS - 1) / CONDENSED_ROWS;
  for (int64_t v = first; v < end && count->taken; v += VECTOR_ROWS)
    count_vectors(count, v, smaller(v + VECTOR_ROWS, end), c);
  if (count->taken) return;
  if (count->least <= TILE_CELLS) {
    memset(c->cell, 0, (size_t)c->cells * sizeof *c->cell);
    for (int64_t e = m->start[first]; e < m->start[end]; e++) c->cell[m->col[e] / TILE_COLS]++;
  }
  for (int64_t w = tall * HEIGHT; w < smaller((tall + 1) * HEIGHT, windows); w++) count_window(count, w, c);
}

static void add_taken(struct count *count, const struct collector *c) {
  if (count->condensing) condensing_add(count->condensing, &c->condensing);
  if (!count->taken) return;
  count->arcs += c->arcs;
  count->taken->windows += c->taken.windows;
  count->taken->columns += c->taken.columns;
  count->taken->blocks += c->taken.blocks;
  count->taken->arcs += c->taken.arcs;
}

/* Windows are independent of each other. */
static int count_all(struct count *count) {
  int code = OK;
#pragma omp parallel num_threads(count->threads)
  {
    struct collector c = {0};
    int mine = collector_init(count, &c);
    if (mine != OK) {
#pragma omp atomic write
      code = mine;
    }
#pragma omp for schedule(dynamic, 4)
    for (int64_t w = 0; w < count->windows; w++) {
      if (mine == OK) count_rows(count, w, &c);
    }
#pragma omp critical
    add_taken(count, &c);
    collector_free(&c);
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to cut a matrix of %lld columns", (long long)count->m->cols);
  return OK;
}

static int64_t windows_looked_at(const struct csr *m, int64_t every) {
  int64_t tall = (m->rows + TILE_ROWS - 1) / TILE_ROWS;
  return (tall + every - 1) / every;
}

int condensed_count(const struct csr *m, int64_t least, int64_t every, int threads,
                    struct condensing *condensing) {
  struct count count = {.m = m, .threads = threads, .least = least, .every = every, .condensing = condensing};
  count.windows = windows_looked_at(m, every);
  *condensing = (struct condensing){0};
  TRY(count_all(&count));
  condensing_multiply(condensing, every);
  return OK;
}

int condensed_vectors(const struct csr *m, int64_t threshold, int64_t every, int threads,
                      struct window_choice *taken) {
  struct count count = {.m = m, .threads = threads, .every = every, .taken = taken, .threshold = threshold};
  count.windows = windows_looked_at(m, every);
  *taken = (struct window_choice){.vectors = threshold};
  TRY(count_all(&count));
  const double times = count.arcs > 0 ? (double)m->nnz / (double)count.arcs : 0;
  taken->windows = llround((double)taken->windows * times);
  taken->columns = llround((double)taken->columns * times);
  taken->blocks = llround((double)taken->blocks * times);
  taken->arcs = llround((double)taken->arcs * times);
  return OK;
}

int condensed_foresee(const struct csr *m, const struct cost_case *c, const struct choice *choice,
                      int threads, struct window_choice *windows) {
  enum { SAMPLE = 1 << 20 }; /* entries that are looked at */
  const struct window_rule rule = cost_window_rule(c, m->cols, choice);
  static struct condensing condensing; /* large */
  *windows = (struct window_choice){0};
  if (m->near > 0 || rule.block == 0 || rule.all * rule.arc + rule.start <= rule.once) return OK;
  TRY(condensed_count(m, choice->tile_arcs_least, 1 + m->nnz / SAMPLE, threads, &condensing));
  *windows = cost_windows(&rule, &condensing);
  return OK;
}

void condensed_free(struct condensed *c) {
  free_all(c->start, c->col, c->bits, c->first, c->value);
  *c = (struct condensed){0};
}
