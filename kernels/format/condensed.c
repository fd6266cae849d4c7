#include "kernels/format/condensed.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/format/tiles.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

/* A set of columns that is emptied in ascending order, in time that hardly depends on how many there could
 * be: a bit a column, and a bit a word of those. */
struct collector {
  uint64_t *there, *words;
  int64_t word_words;
  int32_t *list;  /* [cols] the set in order */
  int32_t *place; /* [cols] where a column stands in it; NULL where windows are only counted */
  int32_t *cell;  /* [segments] then: entries of the cells of 128 rows */
  int64_t cells;
  struct condensing condensing;
};

struct split {
  const struct csr *m;
  int threads;
  int64_t windows;               /* what a thread takes at a time */
  int64_t least, every;          /* of condensed_count */
  struct condensing *condensing; /* what is wanted: this, */
  const struct window_rule *rule;
  struct condensed *condensed; /* or these two */
  struct csr *rest;
};

static int collector_init(const struct split *split, struct collector *c) {
  int64_t cols = split->m->cols, words = cols / 64 + 1;
  c->word_words = words / 64 + 1;
  c->cells = cols / TILE_COLS + 1;
  TRY(memory_alloc(&c->there, words * (int64_t)sizeof *c->there, "sets of columns"));
  TRY(memory_alloc(&c->words, c->word_words * (int64_t)sizeof *c->words, "sets of columns"));
  TRY(memory_alloc(&c->list, (cols + 1) * (int64_t)sizeof *c->list, "columns of a window"));
  if (split->condensing)
    return memory_alloc(&c->cell, c->cells * (int64_t)sizeof *c->cell, "cells of a window");
  return memory_alloc(&c->place, cols * (int64_t)sizeof *c->place, "places of columns");
}

static void collector_free(struct collector *c) {
  free(c->there);
  free(c->words);
  free(c->list);
  free(c->place);
  free(c->cell);
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

/* Empties the set into list and place; returns how many there were. */
static int64_t drain(struct collector *c) {
  int64_t count = 0;
  for (int64_t w = 0; w < c->word_words; w++) {
    while (c->words[w]) {
      int64_t word = w * 64 + take_lowest(&c->words[w]);
      while (c->there[word]) {
        int32_t col = (int32_t)(word * 64 + take_lowest(&c->there[word]));
        if (c->place) c->place[col] = (int32_t)count;
        c->list[count++] = col;
      }
    }
  }
  return count;
}

static int64_t least_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t window_end(const struct csr *m, int64_t w) {
  return least_of((w + 1) * CONDENSED_ROWS, m->rows);
}

/* Entries of a 16-row window that are in no tile, and their columns. */
static void count_window(const struct split *split, int64_t w, struct collector *c) {
  const struct csr *m = split->m;
  int64_t arcs = 0, before = 0;
  for (int64_t e = m->start[w * CONDENSED_ROWS]; e < m->start[window_end(m, w)]; e++) {
    int32_t col = m->col[e];
    if (split->least <= TILE_CELLS && c->cell[col / TILE_COLS] >= split->least) continue;
    insert(c, col);
    arcs++;
  }
  int64_t columns = drain(c);
  for (int64_t i = 0; i < columns; i++)
    before += i == 0 || c->list[i] / CONDENSED_COLS != c->list[i - 1] / CONDENSED_COLS;
  if (arcs > 0) condensing_window(&c->condensing, arcs, columns, before);
}

/* A window of 128 rows, as tiles have them. */
static void count_rows(const struct split *split, int64_t at, struct collector *c) {
  enum { HEIGHT = TILE_ROWS / CONDENSED_ROWS };
  const struct csr *m = split->m;
  int64_t tall = at * split->every, first = tall * TILE_ROWS, end = least_of(first + TILE_ROWS, m->rows);
  int64_t windows = (m->rows + CONDENSED_ROWS - 1) / CONDENSED_ROWS;
  if (split->least <= TILE_CELLS) {
    memset(c->cell, 0, (size_t)c->cells * sizeof *c->cell);
    for (int64_t e = m->start[first]; e < m->start[end]; e++) c->cell[m->col[e] / TILE_COLS]++;
  }
  for (int64_t w = tall * HEIGHT; w < least_of((tall + 1) * HEIGHT, windows); w++) count_window(split, w, c);
}

static int64_t collect(const struct csr *m, int64_t w, struct collector *c) {
  for (int64_t e = m->start[w * CONDENSED_ROWS]; e < m->start[window_end(m, w)]; e++) insert(c, m->col[e]);
  return drain(c);
}

/* Blocks of a window into condensed.start[w + 1], where it is taken, else its rows into rest.start. */
static void measure_window(const struct split *split, int64_t w, struct collector *c) {
  const struct csr *m = split->m;
  int64_t first = w * CONDENSED_ROWS, end = window_end(m, w), arcs = m->start[end] - m->start[first];
  int64_t columns = collect(m, w, c);
  int taken = arcs > 0 && cost_window(split->rule, (double)arcs, (double)columns);
  if (taken) split->condensed->start[w + 1] = blocks_of_columns(columns);
  for (int64_t i = first; i < end && !taken; i++) split->rest->start[i + 1] = m->start[i + 1] - m->start[i];
}

static void set_bits(const struct csr *m, int64_t first, int64_t end, const struct collector *c,
                     uint8_t *bits) {
  for (int64_t i = first; i < end; i++) {
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
      int32_t place = c->place[m->col[e]];
      struct block_bit at = block_bit_of((int)(i - first), place % CONDENSED_COLS);
      bits[place / CONDENSED_COLS * BLOCK_BYTES + at.byte] |= (uint8_t)(1u << at.bit);
    }
  }
}

static void copy_rows(const struct split *split, int64_t first, int64_t end) {
  const struct csr *m = split->m;
  int64_t from = m->start[first], to = split->rest->start[first], count = split->rest->start[end] - to;
  memcpy(split->rest->col + to, m->col + from, (size_t)count * sizeof *m->col);
  if (m->weight) memcpy(split->rest->weight + to, m->weight + from, (size_t)count * sizeof *m->weight);
}

static void fill_window(const struct split *split, int64_t w, struct collector *c) {
  const struct csr *m = split->m;
  struct condensed *to = split->condensed;
  int64_t first = w * CONDENSED_ROWS, end = window_end(m, w), block = to->start[w];
  if (to->start[w + 1] == block) return copy_rows(split, first, end);
  int64_t columns = collect(m, w, c), places = (to->start[w + 1] - block) * CONDENSED_COLS;
  for (int64_t i = 0; i < places; i++)
    to->col[block * CONDENSED_COLS + i] = c->list[least_of(i, columns - 1)];
  set_bits(m, first, end, c, to->bits + block * BLOCK_BYTES);
}

/* Windows are independent of each other. */
static int for_windows(const struct split *split,
                       void (*work)(const struct split *split, int64_t w, struct collector *c)) {
  int code = OK;
#pragma omp parallel num_threads(split->threads)
  {
    struct collector c = {0};
    int mine = collector_init(split, &c);
    if (mine != OK) {
#pragma omp atomic write
      code = mine;
    }
#pragma omp for schedule(dynamic, 4)
    for (int64_t w = 0; w < split->windows; w++) {
      if (mine == OK) work(split, w, &c);
    }
    if (split->condensing) {
#pragma omp critical
      condensing_add(split->condensing, &c.condensing);
    }
    collector_free(&c);
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to cut a matrix of %lld columns", (long long)split->m->cols);
  return OK;
}

int condensed_count(const struct csr *m, int64_t least, int64_t every, int threads,
                    struct condensing *condensing) {
  struct split split = {.m = m, .threads = threads, .least = least, .every = every, .condensing = condensing};
  int64_t tall = (m->rows + TILE_ROWS - 1) / TILE_ROWS;
  split.windows = (tall + every - 1) / every;
  *condensing = (struct condensing){0};
  TRY(for_windows(&split, count_rows));
  condensing_multiply(condensing, every);
  return OK;
}

static int allocate_windows(const struct split *split) {
  const struct csr *m = split->m;
  *split->rest = (struct csr){.rows = m->rows, .cols = m->cols, .row = m->row};
  *split->condensed = (struct condensed){.windows = split->windows};
  TRY(memory_alloc(&split->rest->start, (m->rows + 1) * (int64_t)sizeof(int64_t), "rest of the windows"));
  return memory_alloc(&split->condensed->start, (split->windows + 1) * (int64_t)sizeof(int64_t), "windows");
}

static int allocate_blocks(const struct split *split) {
  struct condensed *c = split->condensed;
  struct csr *rest = split->rest;
  for (int64_t w = 0; w < split->windows; w++) {
    c->taken += c->start[w + 1] > 0;
    c->start[w + 1] += c->start[w];
  }
  for (int64_t i = 0; i < rest->rows; i++) rest->start[i + 1] += rest->start[i];
  c->blocks = c->start[split->windows];
  rest->nnz = rest->start[rest->rows];
  c->entries = split->m->nnz - rest->nnz;
  TRY(memory_alloc(&rest->col, rest->nnz * (int64_t)sizeof *rest->col, "rest of the windows"));
  if (split->m->weight)
    TRY(memory_alloc(&rest->weight, rest->nnz * (int64_t)sizeof *rest->weight, "rest of the windows"));
  TRY(memory_alloc(&c->col, c->blocks * CONDENSED_COLS * (int64_t)sizeof *c->col, "columns of blocks"));
  return memory_alloc(&c->bits, c->blocks * BLOCK_BYTES, "blocks");
}

static int bits_before(const uint8_t *bits, struct block_bit at) {
  int count = __builtin_popcount(bits[at.byte] & ((1u << at.bit) - 1));
  for (int i = 0; i < at.byte; i++) count += __builtin_popcount(bits[i]);
  return count;
}

/* Weights of a window to the places of their bits. */
static void place_values(const struct split *split, int64_t w, struct collector *c) {
  const struct csr *m = split->m;
  struct condensed *to = split->condensed;
  int64_t first = w * CONDENSED_ROWS;
  if (to->start[w + 1] == to->start[w]) return;
  collect(m, w, c);
  for (int64_t i = first; i < window_end(m, w); i++) {
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
      int32_t place = c->place[m->col[e]];
      int64_t block = to->start[w] + place / CONDENSED_COLS;
      struct block_bit at = block_bit_of((int)(i - first), place % CONDENSED_COLS);
      to->value[to->first[block] + bits_before(to->bits + block * BLOCK_BYTES, at)] = m->weight[e];
    }
  }
}

static int fill_values(const struct split *split) {
  struct condensed *c = split->condensed;
  TRY(memory_alloc(&c->first, (c->blocks + 1) * (int64_t)sizeof *c->first, "values of blocks"));
  TRY(memory_alloc(&c->value, c->entries * (int64_t)sizeof *c->value, "values of blocks"));
  for (int64_t b = 0; b < c->blocks; b++) {
    const uint8_t *bits = c->bits + b * BLOCK_BYTES;
    c->first[b + 1] = c->first[b];
    for (int i = 0; i < BLOCK_BYTES; i++) c->first[b + 1] += __builtin_popcount(bits[i]);
  }
  return for_windows(split, place_values);
}

int condensed_split(const struct csr *m, const struct window_rule *rule, int threads,
                    struct condensed *condensed, struct csr *rest) {
  struct split split = {.m = m, .threads = threads, .rule = rule, .condensed = condensed, .rest = rest};
  split.windows = (m->rows + CONDENSED_ROWS - 1) / CONDENSED_ROWS;
  TRY(allocate_windows(&split));
  TRY(for_windows(&split, measure_window));
  TRY(allocate_blocks(&split));
  TRY(for_windows(&split, fill_window));
  return m->weight ? fill_values(&split) : OK;
}

void condensed_free(struct condensed *c) {
  free(c->start);
  free(c->col);
  free(c->bits);
  free(c->first);
  free(c->value);
  *c = (struct condensed){0};
}
