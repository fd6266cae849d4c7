#include "kernels/format/tiles.h"

#include "runtime/base/base.h"

/* What a thread counts with: non-zeros of each segment in the window at hand, and which segments have any. */
struct counter {
  int32_t *entries; /* [segments] */
  int32_t *touched; /* [segments] */
  int64_t length;
  int64_t apart; /* entries of the window behind the segments */
  struct density density;
};

struct split {
  const struct csr *m;
  int threads;
  int64_t least, segments, windows; /* segments where tiles may be */
  struct density *density;          /* what is wanted: this, */
  struct tiles *tiles;              /* or these two */
  struct csr *rest;
};

static int64_t window_end(const struct split *split, int64_t w) {
  return smaller((w + 1) * TILE_ROWS, split->m->rows);
}

/* What is behind the segments has its own count, which stays 0: what is there is in no tile. */
static int counter_init(const struct split *split, struct counter *counter) {
  return memory_arrays("tile counts", ROOM(&counter->entries, split->m->cols / TILE_COLS + 1),
                       ROOM(&counter->touched, split->segments));
}

static void counter_free(struct counter *counter) {
  free_all(counter->entries, counter->touched);
}

static void count_window(const struct split *split, int64_t w, struct counter *counter) {
  const struct csr *m = split->m;
  counter->length = counter->apart = 0;
  for (int64_t e = m->start[w * TILE_ROWS]; e < m->start[window_end(split, w)]; e++) {
    int32_t segment = m->col[e] / TILE_COLS;
    if (segment >= split->segments)
      counter->apart++;
    else if (counter->entries[segment]++ == 0)
      counter->touched[counter->length++] = segment;
  }
}

static void clear_window(struct counter *counter) {
  for (int64_t i = 0; i < counter->length; i++) counter->entries[counter->touched[i]] = 0;
}

static void weigh_window(const struct split *split, int64_t w, struct counter *counter) {
  int32_t most = 0;
  count_window(split, w, counter);
  for (int64_t i = 0; i < counter->length; i++) {
    int32_t entries = counter->entries[counter->touched[i]];
    density_count(&counter->density, entries);
    if (entries > most) most = entries;
  }
  for (int64_t i = 0; i < counter->apart; i++) density_count(&counter->density, 1);
  if (most > 0) density_count_window(&counter->density, most);
  clear_window(counter);
}

/* Tiles of each window into tiles.start[w + 1], what is left of each row into rest.start[i + 1]. */
static void measure_window(const struct split *split, int64_t w, struct counter *counter) {
  const struct csr *m = split->m;
  count_window(split, w, counter);
  for (int64_t i = 0; i < counter->length; i++)
    split->tiles->start[w + 1] += counter->entries[counter->touched[i]] >= split->least;
  for (int64_t i = w * TILE_ROWS; i < window_end(split, w); i++) {
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++)
      split->rest->start[i + 1] += counter->entries[m->col[e] / TILE_COLS] < split->least;
  }
  clear_window(counter);
}

/* Numbers the window's tiles in the order of their segments; entries[segment] becomes ~tile where there is
 * one. */
static void number_tiles(const struct split *split, int64_t w, struct counter *counter) {
  int64_t tile = split->tiles->start[w];
  qsort(counter->touched, (size_t)counter->length, sizeof *counter->touched, compare_int32);
  for (int64_t i = 0; i < counter->length; i++) {
    int32_t segment = counter->touched[i];
    if (counter->entries[segment] < split->least) continue;
    split->tiles->segment[tile] = segment;
    counter->entries[segment] = ~(int32_t)(tile++ - split->tiles->start[w]);
  }
}

static void fill_window(const struct split *split, int64_t w, struct counter *counter) {
  const struct csr *m = split->m;
  uint32_t *bits = split->tiles->bits + split->tiles->start[w] * TILE_WORDS;
  count_window(split, w, counter);
  number_tiles(split, w, counter);
  for (int64_t i = w * TILE_ROWS; i < window_end(split, w); i++) {
    int64_t left = split->rest->start[i];
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
      int32_t col = m->col[e], mine = counter->entries[col / TILE_COLS];
      if (mine >= 0) {
        if (m->weight) split->rest->weight[left] = m->weight[e];
        split->rest->col[left++] = col;
        continue;
      }
      struct tile_bit at = tile_bit_of((int)(i % TILE_ROWS), col % TILE_COLS);
      bits[(int64_t)~mine * TILE_WORDS + at.word] |= (uint32_t)1 << at.bit;
    }
  }
  clear_window(counter);
}

static int64_t tile_bits(const uint32_t *word, int64_t words) {
  int64_t count = 0;
  for (int64_t i = 0; i < words; i++) count += __builtin_popcount(word[i]);
  return count;
}

/* Weights of the window's tiles to the places of their bits. */
static void place_values(const struct split *split, int64_t w, struct counter *counter) {
  const struct csr *m = split->m;
  struct tiles *tiles = split->tiles;
  int64_t first = tiles->start[w];
  count_window(split, w, counter);
  number_tiles(split, w, counter);
  for (int64_t i = w * TILE_ROWS; i < window_end(split, w); i++) {
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
      int32_t col = m->col[e], mine = counter->entries[col / TILE_COLS];
      if (mine >= 0) continue;
      struct tile_bit at = tile_bit_of((int)(i % TILE_ROWS), col % TILE_COLS);
      int64_t strip = (first + ~mine) * TILE_STRIPS + at.word / STRIP_WORDS;
      const uint32_t *word = tiles->bits + strip * STRIP_WORDS;
      int64_t before = tile_bits(word, at.word % STRIP_WORDS) +
                       __builtin_popcount(word[at.word % STRIP_WORDS] & (((uint32_t)1 << at.bit) - 1));
      tiles->value[tiles->first[strip] + before] = m->weight[e];
    }
  }
  clear_window(counter);
}

/* Windows are independent of each other: the result does not depend on the number of threads. */
static int for_windows(const struct split *split,
                       void (*work)(const struct split *split, int64_t w, struct counter *counter)) {
  int code = OK;
#pragma omp parallel num_threads(split->threads)
  {
    struct counter counter = {0};
    int mine = counter_init(split, &counter);
    if (mine != OK) {
#pragma omp atomic write
      code = mine;
    }
#pragma omp for schedule(dynamic, 16)
    for (int64_t w = 0; w < split->windows; w++) {
      if (mine == OK) work(split, w, &counter);
    }
    if (split->density) {
#pragma omp critical
      density_add(split->density, &counter.density);
    }
    counter_free(&counter);
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to cut a matrix of %lld columns", (long long)split->m->cols);
  return OK;
}

static int allocate_rows(const struct split *split) {
  const struct csr *m = split->m;
  *split->rest = (struct csr){.rows = m->rows, .cols = m->cols, .row = m->row, .near = m->near};
  return memory_arrays("windows of tiles", ROOM(&split->rest->start, m->rows + 1),
                       ROOM(&split->tiles->start, split->windows + 1));
}

static int allocate_entries(const struct split *split) {
  struct tiles *tiles = split->tiles;
  struct csr *rest = split->rest;
  for (int64_t w = 0; w < split->windows; w++) tiles->start[w + 1] += tiles->start[w];
  for (int64_t i = 0; i < rest->rows; i++) rest->start[i + 1] += rest->start[i];
  tiles->windows = split->windows;
  tiles->count = tiles->start[split->windows];
  rest->nnz = rest->start[rest->rows];
  tiles->entries = split->m->nnz - rest->nnz;
  TRY(memory_arrays("rest of the tiles", ROOM(&rest->col, rest->nnz)));
  if (split->m->weight) TRY(memory_arrays("rest of the tiles", ROOM(&rest->weight, rest->nnz)));
  return memory_arrays("tiles", ROOM(&tiles->segment, tiles->count),
                       ROOM(&tiles->bits, tiles->count * TILE_WORDS));
}

static int allocate_values(const struct split *split) {
  struct tiles *tiles = split->tiles;
  int64_t strips = tiles->count * TILE_STRIPS;
  TRY(memory_arrays("weights of tiles", ROOM(&tiles->first, strips + 1),
                    ROOM(&tiles->value, tiles->entries)));
  for (int64_t s = 0; s < strips; s++)
    tiles->first[s + 1] = tiles->first[s] + tile_bits(tiles->bits + s * STRIP_WORDS, STRIP_WORDS);
  return OK;
}

static int copy_all(const struct csr *m, struct tiles *tiles, struct csr *rest) {
  TRY(memory_arrays("tile windows", ROOM(&tiles->start, 1)));
  TRY(csr_init(rest, m->rows, m->cols, m->nnz, m->weight != NULL));
  rest->row = m->row;
  rest->near = m->near;
  memcpy(rest->start, m->start, (size_t)(m->rows + 1) * sizeof *m->start);
  memcpy(rest->col, m->col, (size_t)m->nnz * sizeof *m->col);
  if (m->weight) memcpy(rest->weight, m->weight, (size_t)m->nnz * sizeof *m->weight);
  return OK;
}

static void cut_windows(struct split *split) {
  split->segments = tile_segments(split->m);
  split->windows = (split->m->rows + TILE_ROWS - 1) / TILE_ROWS;
}

int tiles_density(const struct csr *m, int threads, struct density *density) {
  struct split split = {.m = m, .threads = threads, .density = density};
  *density = (struct density){.rows = m->rows, .cols = tile_columns(m)};
  cut_windows(&split);
  return for_windows(&split, weigh_window);
}

int tiles_split(const struct csr *m, int64_t least, int threads, struct tiles *tiles, struct csr *rest) {
  struct split split = {.m = m, .threads = threads, .least = least, .tiles = tiles, .rest = rest};
  *tiles = (struct tiles){0};
  *rest = (struct csr){0};
  if (least > TILE_CELLS) return copy_all(m, tiles, rest);
  cut_windows(&split);
  TRY(allocate_rows(&split));
  TRY(for_windows(&split, measure_window));
  TRY(allocate_entries(&split));
  TRY(for_windows(&split, fill_window));
  if (!m->weight) return OK;
  TRY(allocate_values(&split));
  return for_windows(&split, place_values);
}

void tiles_free(struct tiles *tiles) {
  free_all(tiles->start, tiles->segment, tiles->bits, tiles->first, tiles->value);
  *tiles = (struct tiles){0};
}

void tiles_rest_free(struct csr *rest) {
  rest->row = NULL;
  csr_free(rest);
}
