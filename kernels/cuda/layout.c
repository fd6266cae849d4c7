#include "kernels/cuda/layout.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "runtime/memory.h"

enum { WINDOW = 1024, LONGEST = 1024, LONGEST_SPARSE = 256, EARLY = 4 /* times the mean */, ALIGNMENT = 256 };

/* The arrays of a layout on the host, before they are copied. */
struct cut {
  const struct csr *csr;
  int32_t limit; /* entries of a slot */
  int32_t early; /* slots of more entries than this come before all others */
  int64_t windows, slots, long_rows, pieces;
  int64_t *slot_start; /* [2 windows + 1]: the early slots of each window, then the others */
  struct slot *slot;
  struct long_row *long_row;
  int32_t *long_target, *piece_row;
};

static void cut_free(struct cut *cut) {
  free(cut->slot_start);
  free(cut->slot);
  free(cut->long_row);
  free(cut->long_target);
  free(cut->piece_row);
}

static int64_t degree_of(const struct csr *m, int64_t i) {
  return m->start[i + 1] - m->start[i];
}

static int64_t pieces_of(const struct cut *cut, int64_t i) {
  int64_t degree = degree_of(cut->csr, i);
  return degree > cut->limit ? (degree + cut->limit - 1) / cut->limit : 0;
}

/* Rows [first, end) of a window. */
static int64_t window_end(const struct cut *cut, int64_t w) {
  return (w + 1) * WINDOW < cut->csr->rows ? (w + 1) * WINDOW : cut->csr->rows;
}

/* Which of the two sections a slot of that many entries belongs to. */
static int64_t section_of(const struct cut *cut, int64_t window, int64_t entries) {
  return entries > cut->early ? window : cut->windows + window;
}

/* Long rows and their pieces, and how many slots each window has in each section. */
static int count_slots(struct cut *cut) {
  const struct csr *m = cut->csr;
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t pieces = pieces_of(cut, i), whole = pieces > 0 ? pieces - 1 : 0;
    cut->long_rows += pieces > 0;
    cut->pieces += pieces;
    cut->slot_start[section_of(cut, i / WINDOW, cut->limit) + 1] += whole;
    cut->slot_start[section_of(cut, i / WINDOW, degree_of(m, i) - whole * cut->limit) + 1]++;
  }
  for (int64_t w = 0; w < 2 * cut->windows; w++) cut->slot_start[w + 1] += cut->slot_start[w];
  cut->slots = cut->slot_start[2 * cut->windows];
  if (cut->slots > INT32_MAX)
    FAIL(BAD_INPUT, "a sparse matrix of %lld rows and %lld entries does not fit one GPU; use more ranks",
         (long long)m->rows, (long long)m->nnz);
  return OK;
}

static void list_long_rows(struct cut *cut) {
  const struct csr *m = cut->csr;
  int64_t at = 0, piece = 0;
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t pieces = pieces_of(cut, i);
    int32_t row = m->row ? m->row[i] : (int32_t)i;
    if (pieces == 0) continue;
    cut->long_target[at] = row;
    cut->long_row[at++] = (struct long_row){
        .row = row, .first_piece = (int32_t)piece, .pieces = (int32_t)pieces};
    for (int64_t p = 0; p < pieces; p++) cut->piece_row[piece++] = row;
  }
}

/* First long row at or behind row `v` of the result. */
static int64_t long_row_at(const struct cut *cut, int64_t v) {
  int64_t low = 0, high = cut->long_rows;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (cut->long_row[middle].row >= v)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Where each length begins in a window whose longest slots come first. place[limit - length] */
static void place_lengths(const struct cut *cut, int64_t w, int64_t place[LONGEST + 1]) {
  int64_t count[LONGEST + 1] = {0}, sum = 0;
  for (int64_t i = w * WINDOW; i < window_end(cut, w); i++) {
    int64_t pieces = pieces_of(cut, i), whole = pieces > 0 ? pieces - 1 : 0;
    count[0] += whole;
    count[cut->limit - (degree_of(cut->csr, i) - whole * cut->limit)]++;
  }
  for (int64_t l = 0; l <= cut->limit; l++) {
    int64_t length = cut->limit - l;
    if (l == 0 || length == cut->early) sum = cut->slot_start[section_of(cut, w, length)];
    place[l] = sum;
    sum += count[l];
  }
}

static void fill_window(struct cut *cut, int64_t w) {
  const struct csr *m = cut->csr;
  int64_t place[LONGEST + 1];
  int64_t first = w * WINDOW, at = cut->long_rows;
  place_lengths(cut, w, place);
  if (cut->long_rows > 0) at = long_row_at(cut, m->row ? m->row[first] : first);
  for (int64_t i = first; i < window_end(cut, w); i++) {
    int64_t pieces = pieces_of(cut, i), left = degree_of(m, i), entry = m->start[i];
    int32_t target = m->row ? m->row[i] : (int32_t)i;
    if (pieces > 0) target = ~cut->long_row[at++].first_piece;
    do {
      int32_t count = left < cut->limit ? (int32_t)left : cut->limit;
      cut->slot[place[cut->limit - count]++] = (struct slot){entry, count, target--};
      entry += count;
      left -= count;
    } while (left > 0);
  }
}

static int make_cut(struct cut *cut, const struct csr *m) {
  cut->csr = m;
  cut->limit = m->rows > 0 && m->nnz / m->rows >= DENSE_DEGREE ? LONGEST : LONGEST_SPARSE;
  cut->windows = (m->rows + WINDOW - 1) / WINDOW;
  cut->early = m->rows > 0 && m->nnz / m->rows < LONGEST / EARLY ? (int32_t)(m->nnz / m->rows + 1) * EARLY
                                                                 : LONGEST;
  TRY(memory_alloc(&cut->slot_start, (2 * cut->windows + 1) * (int64_t)sizeof *cut->slot_start,
                   "layout windows"));
  TRY(count_slots(cut));
  TRY(memory_alloc(&cut->slot, cut->slots * (int64_t)sizeof *cut->slot, "layout slots"));
  TRY(memory_alloc(&cut->long_row, cut->long_rows * (int64_t)sizeof *cut->long_row, "layout long rows"));
  TRY(memory_alloc(&cut->long_target, cut->long_rows * (int64_t)sizeof *cut->long_target,
                   "layout long rows"));
  TRY(memory_alloc(&cut->piece_row, cut->pieces * (int64_t)sizeof *cut->piece_row, "layout pieces"));
  list_long_rows(cut);
#pragma omp parallel for schedule(static)
  for (int64_t w = 0; w < cut->windows; w++) fill_window(cut, w);
  return OK;
}

/* One array of the block: what it holds and where it is wanted. */
struct part {
  const void *host; /* NULL: absent */
  int64_t bytes;
  void *device; /* address of the pointer to it */
};

/* Allocates the block of all parts and copies them. */
static int upload_parts(struct kernels *k, struct cuda_layout *layout, struct part *part, int parts) {
  int64_t bytes = 0;
  for (int i = 0; i < parts; i++)
    bytes += part[i].host ? (part[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
  TRY(device_alloc(k->device, bytes, &layout->block, "sparse matrix"));
  char *at = layout->block;
  for (int i = 0; i < parts; i++) {
    if (!part[i].host) continue;
    memcpy(part[i].device, &at, sizeof at);
    TRY(device_upload(k->device, STREAM_COMPUTE, at, part[i].host, part[i].bytes));
    at += (part[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static int upload(struct kernels *k, struct cuda_layout *layout, const struct cut *cut,
                  const struct tile_lists *lists) {
  const struct csr *m = cut->csr;
  const struct tiles *tiles = &lists->tiles;
  struct cuda_tiles *copy = &layout->tiles;
  struct part parts[] = {
      {cut->slot, cut->slots * (int64_t)sizeof *cut->slot, &layout->slot},
      {cut->long_row, cut->long_rows * (int64_t)sizeof *cut->long_row, &layout->long_row},
      {cut->long_target, cut->long_rows * (int64_t)sizeof *cut->long_target, &layout->long_target},
      {cut->piece_row, cut->pieces * (int64_t)sizeof *cut->piece_row, &layout->piece_row},
      {m->col, m->nnz * (int64_t)sizeof *m->col, &layout->col},
      {m->row, m->rows * (int64_t)sizeof *m->row, &layout->row},
      {m->weight, m->nnz * (int64_t)sizeof *m->weight, &layout->value},
      {lists->window, lists->listed * (int64_t)sizeof *lists->window, &copy->window},
      {lists->position, tiles->windows * (int64_t)sizeof *lists->position, &copy->position},
      {tiles->segment, tiles->count * (int64_t)sizeof *tiles->segment, &copy->segment},
      {tiles->bits, tiles->count * TILE_WORDS * (int64_t)sizeof *tiles->bits, &copy->bits},
  };
  copy->count = tiles->count;
  copy->listed = lists->listed;
  layout->gathered = m->nnz;
  layout->slots = cut->slots;
  layout->long_rows = cut->long_rows;
  layout->pieces = cut->pieces;
  return upload_parts(k, layout, parts, (int)(sizeof parts / sizeof parts[0]));
}

int cuda_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout) {
  struct cuda_layout *made = NULL;
  struct cut cut = {0};
  struct tile_lists lists = {0};
  struct csr rest = {0};
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  made->base.csr = m;
  int code = cuda_tiles_cut(k, m, plan, &lists, &rest);
  if (code == OK) code = make_cut(&cut, lists.listed > 0 ? &rest : m);
  if (code == OK) code = upload(k, made, &cut, &lists);
  cut_free(&cut);
  cuda_tiles_cut_free(&lists, &rest);
  return code;
}

/* The pattern stays with `from`, which outlives what is made here. */
int cuda_layout_share(struct kernels *k, const struct layout *from, struct layout **layout) {
  struct cuda_layout *made = NULL;
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  *made = *cuda_layout(from);
  made->block = NULL;
  made->value = NULL;
  TRY(device_alloc(k->device, from->csr->nnz * (int64_t)sizeof *made->value, &made->block, "sparse values"));
  made->value = made->block;
  return OK;
}

void cuda_layout_free(struct kernels *k, struct layout *layout) {
  struct cuda_layout *mine = (struct cuda_layout *)layout;
  device_release(k->device, mine->block);
  free(mine);
}
