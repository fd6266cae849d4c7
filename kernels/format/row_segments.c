#include "kernels/format/row_segments.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"

enum { WINDOW = 1024, LONGEST = 1024, LONGEST_SPARSE = 256, EARLY = 4 /* times the mean */ };
_Static_assert(LONGEST < 1 << SLOT_COUNT_BITS, "a slot's entries can be counted");

void slots_free(struct slots *slots) {
  free(slots->start);
  free(slots->long_start);
  free(slots->piece_start);
  free(slots->slot.first);
  free(slots->slot.extent);
  free(slots->slot.target);
  free(slots->long_row);
  free(slots->long_target);
  free(slots->piece_row);
  free(slots->tall_row);
  *slots = (struct slots){0};
}

static int64_t degree_of(const struct csr *m, int64_t i) {
  return m->start[i + 1] - m->start[i];
}

static int64_t pieces_of(const struct slots *slots, int64_t i) {
  int64_t degree = degree_of(slots->csr, i);
  return degree > slots->limit ? (degree + slots->limit - 1) / slots->limit : 0;
}

/* Rows [first, end) of a window. */
static int64_t window_end(const struct slots *slots, int64_t w) {
  return (w + 1) * WINDOW < slots->csr->rows ? (w + 1) * WINDOW : slots->csr->rows;
}

/* Which of the two sections a slot of that many entries belongs to. */
static int64_t section_of(const struct slots *slots, int64_t window, int64_t entries) {
  return entries > slots->early && !slots->in_order ? window : slots->windows + window;
}

/* How many slots the window has in each section, how many long rows and pieces of these. */
static void count_window(const struct slots *slots, int64_t w) {
  int64_t *early = &slots->start[section_of(slots, w, slots->limit) + 1];
  for (int64_t i = w * WINDOW; i < window_end(slots, w); i++) {
    int64_t mine = pieces_of(slots, i), whole = mine > 0 ? mine - 1 : 0;
    slots->long_start[w + 1] += mine > 0;
    slots->piece_start[w + 1] += mine;
    *early += whole;
    slots->start[section_of(slots, w, degree_of(slots->csr, i) - whole * slots->limit) + 1]++;
  }
}

static int count_slots(struct slots *slots) {
  const struct csr *m = slots->csr;
#pragma omp parallel for schedule(static)
  for (int64_t w = 0; w < slots->windows; w++) count_window(slots, w);
  for (int64_t w = 0; w < slots->windows; w++) {
    slots->long_start[w + 1] += slots->long_start[w];
    slots->piece_start[w + 1] += slots->piece_start[w];
  }
  for (int64_t w = 0; w < 2 * slots->windows; w++) slots->start[w + 1] += slots->start[w];
  slots->long_rows = slots->long_start[slots->windows];
  slots->pieces = slots->piece_start[slots->windows];
  slots->count = slots->start[2 * slots->windows];
  if (slots->count > INT32_MAX || m->nnz >> SLOT_ENTRY_BITS > 0)
    FAIL(BAD_INPUT, "a sparse matrix of %lld rows and %lld entries does not fit one GPU; use more ranks",
         (long long)m->rows, (long long)m->nnz);
  return OK;
}

static int list_tall_rows(struct slots *slots) {
  TRY(memory_alloc(&slots->tall_row, slots->long_rows * (int64_t)sizeof *slots->tall_row,
                   "layout tall rows"));
  for (int64_t i = 0; i < slots->long_rows; i++) {
    if (slots->long_row[i].pieces > TALL_PIECES) slots->tall_row[slots->tall_rows++] = (int32_t)i;
  }
  return OK;
}

/* Where each length begins in a window whose longest slots come first. place[limit - length] */
static void place_lengths(const struct slots *slots, int64_t w, int64_t place[LONGEST + 1]) {
  int64_t count[LONGEST + 1] = {0}, sum = 0;
  for (int64_t i = w * WINDOW; i < window_end(slots, w); i++) {
    int64_t pieces = pieces_of(slots, i), whole = pieces > 0 ? pieces - 1 : 0;
    count[0] += whole;
    count[slots->limit - (degree_of(slots->csr, i) - whole * slots->limit)]++;
  }
  if (slots->in_order) {
    place[0] = slots->start[section_of(slots, w, 0)];
    return;
  }
  for (int64_t l = 0; l <= slots->limit; l++) {
    int64_t length = slots->limit - l;
    if (l == 0 || length == slots->early) sum = slots->start[section_of(slots, w, length)];
    place[l] = sum;
    sum += count[l];
  }
}

static void put_slot(struct packed_slots *slots, int64_t at, const struct slot *slot) {
  slots->first[at] = (uint32_t)slot->first;
  slots->extent[at] = (uint16_t)(slot->first >> 32 << SLOT_COUNT_BITS | slot->count);
  slots->target[at] = slot->target;
}

static void put_long_row(struct slots *slots, int64_t at, const struct long_row *row) {
  slots->long_row[at] = *row;
  slots->long_target[at] = row->row;
  for (int64_t p = 0; p < row->pieces; p++) slots->piece_row[row->first_piece + p] = row->row;
}

static void fill_window(struct slots *slots, int64_t w) {
  const struct csr *m = slots->csr;
  int64_t place[LONGEST + 1];
  int64_t at = slots->long_start[w], piece = slots->piece_start[w];
  place_lengths(slots, w, place);
  for (int64_t i = w * WINDOW; i < window_end(slots, w); i++) {
    int64_t pieces = pieces_of(slots, i), left = degree_of(m, i), entry = m->start[i];
    int32_t target = m->row ? m->row[i] : (int32_t)i;
    if (pieces > 0) {
      put_long_row(slots, at++, &(struct long_row){target, (int32_t)piece, (int32_t)pieces, 0});
      target = ~(int32_t)piece;
      piece += pieces;
    }
    do {
      int32_t count = left < slots->limit ? (int32_t)left : slots->limit;
      int64_t *next = slots->in_order ? place : &place[slots->limit - count];
      put_slot(&slots->slot, (*next)++, &(struct slot){entry, count, target--});
      entry += count;
      left -= count;
    } while (left > 0);
  }
}

/* A slot's entries come one batch after the other, about .07 us an entry on an H200, where all of a product
 * takes 1 us for 9 MB of gathered rows: slots are so long that the longest ends about when the others do.
 * Adding up pieces is a further kernel, 1 to 3 us: rows that are hardly longer stay whole. The steps cost .6%
 * more in the mean than the best of 32, 64, 128 and 256 for each of eleven graphs of .4 to 5 M entries, in
 * rows of 64 to 2048 bytes. */
int32_t slots_limit(int64_t rows, int64_t entries, int64_t longest, int64_t row_bytes, int streams) {
  static const struct {
    double bytes;
    int32_t limit;
  } steps[] = {{80e6, 32}, {200e6, 64}, {2e9, 128}};
  enum { STEPS = sizeof steps / sizeof steps[0], USUAL_ROW = 128, WARP_BYTES = 512 };
  const int32_t most = rows > 0 && entries / rows >= DENSE_DEGREE ? LONGEST : LONGEST_SPARSE;
  const int64_t row = row_bytes > 0 ? row_bytes : USUAL_ROW;
  const double bytes = (double)entries * (double)row;
  const int64_t share = streams && row < WARP_BYTES ? WARP_BYTES / row : 1; /* groups of a warp */
  if ((double)longest <= fmin(most, 43 + bytes / 9e5)) return most;
  for (int i = 0; i < STEPS; i++) {
    if (bytes < steps[i].bytes && steps[i].limit * share < most) return (int32_t)(steps[i].limit * share);
  }
  return most;
}

static int64_t longest_row(const struct csr *m) {
  int64_t longest = 0;
#pragma omp parallel for schedule(static) reduction(max : longest)
  for (int64_t i = 0; i < m->rows; i++) {
    if (degree_of(m, i) > longest) longest = degree_of(m, i);
  }
  return longest;
}

int slots_cut(const struct csr *m, const struct slots_plan *plan, struct slots *slots) {
  const int streams = plan->streams && slots_may_stream(m->rows, m->nnz);
  *slots = (struct slots){.csr = m, .in_order = plan->in_order};
  slots->limit = slots_limit(m->rows, m->nnz, longest_row(m), plan->row_bytes, streams);
  slots->windows = (m->rows + WINDOW - 1) / WINDOW;
  slots->early = m->rows > 0 && m->nnz / m->rows < LONGEST / EARLY ? (int32_t)(m->nnz / m->rows + 1) * EARLY
                                                                   : LONGEST;
  TRY(memory_alloc(&slots->start, (2 * slots->windows + 1) * (int64_t)sizeof *slots->start,
                   "layout windows"));
  TRY(memory_alloc(&slots->long_start, (slots->windows + 1) * (int64_t)sizeof *slots->long_start,
                   "layout windows"));
  TRY(memory_alloc(&slots->piece_start, (slots->windows + 1) * (int64_t)sizeof *slots->piece_start,
                   "layout windows"));
  TRY(count_slots(slots));
  TRY(memory_alloc(&slots->slot.first, slots->count * (int64_t)sizeof *slots->slot.first, "layout slots"));
  TRY(memory_alloc(&slots->slot.extent, slots->count * (int64_t)sizeof *slots->slot.extent, "layout slots"));
  TRY(memory_alloc(&slots->slot.target, slots->count * (int64_t)sizeof *slots->slot.target, "layout slots"));
  TRY(memory_alloc(&slots->long_row, slots->long_rows * (int64_t)sizeof *slots->long_row,
                   "layout long rows"));
  TRY(memory_alloc(&slots->long_target, slots->long_rows * (int64_t)sizeof *slots->long_target,
                   "layout long rows"));
  TRY(memory_alloc(&slots->piece_row, slots->pieces * (int64_t)sizeof *slots->piece_row, "layout pieces"));
#pragma omp parallel for schedule(static)
  for (int64_t w = 0; w < slots->windows; w++) fill_window(slots, w);
  return list_tall_rows(slots);
}

/* Adds the entries of a slot to a row. */
static void add_slot(const struct csr *m, const struct slot *slot, const double *x, int64_t width,
                     double *y) {
  for (int64_t e = slot->first; e < slot->first + slot->count; e++) {
    double w = m->weight ? (double)m->weight[e] : 1;
    for (int64_t j = 0; j < width; j++) y[j] += w * x[m->col[e] * width + j];
  }
}

int slots_multiply(const struct slots *slots, const double *x, int64_t width, double *y) {
  double *piece = NULL;
  TRY(memory_alloc(&piece, slots->pieces * width * (int64_t)sizeof *piece, "pieces of rows"));
  for (int64_t s = 0; s < slots->count; s++) {
    const struct packed_slots *packed = &slots->slot;
    const struct slot slot = slot_of(packed->first[s], packed->extent[s], packed->target[s]);
    add_slot(slots->csr, &slot, x, width,
             slot.target >= 0 ? y + slot.target * width : piece + ~slot.target * (int64_t)width);
  }
  for (int64_t i = 0; i < slots->long_rows; i++) {
    const struct long_row *row = &slots->long_row[i];
    for (int64_t p = row->first_piece; p < row->first_piece + row->pieces; p++) {
      for (int64_t j = 0; j < width; j++) y[row->row * width + j] += piece[p * width + j];
    }
  }
  free(piece);
  return OK;
}
