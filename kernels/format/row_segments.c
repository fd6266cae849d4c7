#include "kernels/format/row_segments.h"

#include <math.h>

#include "runtime/base/base.h"

enum { WINDOW = 1024, LAST_WINDOW = 48 * WINDOW }; /* rows; at most, of the last one */
enum { USUAL_ROW = 128 /* bytes of a row of X, unless known */, LAST_BYTES = 12 << 20 };
enum { LONGEST = 1024, LONGEST_SPARSE = 256, EARLY = 4 /* times the mean */ };
_Static_assert(LONGEST < 1 << ROW_SEGMENT_COUNT_BITS, "a slot's entries can be counted");

void row_segments_free(struct row_segments *s) {
  free_all(s->start, s->long_start, s->piece_start, s->row_segment.first, s->row_segment.extent,
           s->row_segment.target, s->long_row, s->long_target, s->piece_row, s->tall_row);
  *s = (struct row_segments){0};
}

static int64_t degree_of(const struct csr *m, int64_t i) {
  return m->start[i + 1] - m->start[i];
}

static int64_t pieces_of(const struct row_segments *s, int64_t i) {
  int64_t degree = degree_of(s->csr, i);
  return degree > s->limit ? (degree + s->limit - 1) / s->limit : 0;
}

static int is_dense(int64_t rows, int64_t entries) {
  return rows > 0 && entries / rows >= DENSE_DEGREE;
}

/* The last window holds about what a GPU works on at once: with all of it sorted, a product ends with its
 * shortest row segments. In a sparse matrix it holds as many rows as there are rows of X in LAST_BYTES: wide
 * ones gain less so than by what neighbours share in the caches. */
static int64_t windows_of(const struct csr *m, int64_t row_bytes) {
  const int64_t by_bytes = LAST_BYTES / (row_bytes > 0 ? row_bytes : USUAL_ROW);
  const int64_t last = is_dense(m->rows, m->nnz) ? LAST_WINDOW : smaller(by_bytes, LAST_WINDOW);
  return (larger(m->rows - larger(last, WINDOW), 0) + WINDOW - 1) / WINDOW + 1;
}

/* Rows [w * WINDOW, end) are of a window. */
static int64_t window_end(const struct row_segments *s, int64_t w) {
  return w + 1 < s->windows ? (w + 1) * WINDOW : s->csr->rows;
}

/* Which of the two sections a row segment of that many entries belongs to. */
static int64_t section_of(const struct row_segments *s, int64_t window, int64_t entries) {
  return entries > s->early && !s->in_order ? window : s->windows + window;
}

/* How many row segments the window has in each section, how many long rows and pieces of these. */
static void count_window(const struct row_segments *s, int64_t w) {
  int64_t *early = &s->start[section_of(s, w, s->limit) + 1];
  for (int64_t i = w * WINDOW; i < window_end(s, w); i++) {
    int64_t mine = pieces_of(s, i), whole = mine > 0 ? mine - 1 : 0;
    s->long_start[w + 1] += mine > 0;
    s->piece_start[w + 1] += mine;
    *early += whole;
    s->start[section_of(s, w, degree_of(s->csr, i) - whole * s->limit) + 1]++;
  }
}

static int count_row_segments(struct row_segments *s) {
  const struct csr *m = s->csr;
#pragma omp parallel for schedule(static)
  for (int64_t w = 0; w < s->windows; w++) count_window(s, w);
  for (int64_t w = 0; w < s->windows; w++) {
    s->long_start[w + 1] += s->long_start[w];
    s->piece_start[w + 1] += s->piece_start[w];
  }
  for (int64_t w = 0; w < 2 * s->windows; w++) s->start[w + 1] += s->start[w];
  s->long_rows = s->long_start[s->windows];
  s->pieces = s->piece_start[s->windows];
  s->count = s->start[2 * s->windows];
  if (s->count > INT32_MAX || m->nnz >> ROW_SEGMENT_ENTRY_BITS > 0)
    FAIL(BAD_INPUT, "a sparse matrix of %lld rows and %lld entries does not fit one GPU; use more ranks",
         (long long)m->rows, (long long)m->nnz);
  return OK;
}

static int list_tall_rows(struct row_segments *s) {
  TRY(memory_arrays("layout tall rows", ROOM(&s->tall_row, s->long_rows)));
  for (int64_t i = 0; i < s->long_rows; i++) {
    if (s->long_row[i].pieces > TALL_PIECES) s->tall_row[s->tall_rows++] = (int32_t)i;
  }
  return OK;
}

/* Where each length begins in a window whose longest row segments come first. place[limit - length] */
static void place_lengths(const struct row_segments *s, int64_t w, int64_t place[LONGEST + 1]) {
  int64_t count[LONGEST + 1] = {0}, sum = 0;
  for (int64_t i = w * WINDOW; i < window_end(s, w); i++) {
    int64_t pieces = pieces_of(s, i), whole = pieces > 0 ? pieces - 1 : 0;
    count[0] += whole;
    count[s->limit - (degree_of(s->csr, i) - whole * s->limit)]++;
  }
  if (s->in_order) {
    place[0] = s->start[section_of(s, w, 0)];
    return;
  }
  for (int64_t l = 0; l <= s->limit; l++) {
    int64_t length = s->limit - l;
    if (l == 0 || length == s->early) sum = s->start[section_of(s, w, length)];
    place[l] = sum;
    sum += count[l];
  }
}

static void put_row_segment(struct packed_row_segments *s, int64_t at,
                            const struct row_segment *row_segment) {
  s->first[at] = (uint32_t)row_segment->first;
  s->extent[at] = (uint16_t)(row_segment->first >> 32 << ROW_SEGMENT_COUNT_BITS | row_segment->count);
  s->target[at] = row_segment->target;
}

static void put_long_row(struct row_segments *s, int64_t at, const struct long_row *row) {
  s->long_row[at] = *row;
  s->long_target[at] = row->row;
  for (int64_t p = 0; p < row->pieces; p++) s->piece_row[row->first_piece + p] = row->row;
}

static void fill_window(struct row_segments *s, int64_t w) {
  const struct csr *m = s->csr;
  int64_t place[LONGEST + 1];
  int64_t at = s->long_start[w], piece = s->piece_start[w];
  place_lengths(s, w, place);
  for (int64_t i = w * WINDOW; i < window_end(s, w); i++) {
    int64_t pieces = pieces_of(s, i), left = degree_of(m, i), entry = m->start[i];
    int32_t target = m->row ? m->row[i] : (int32_t)i;
    if (pieces > 0) {
      put_long_row(s, at++, &(struct long_row){target, (int32_t)piece, (int32_t)pieces, 0});
      target = ~(int32_t)piece;
      piece += pieces;
    }
    do {
      int32_t count = left < s->limit ? (int32_t)left : s->limit;
      int64_t *next = s->in_order ? place : &place[s->limit - count];
      put_row_segment(&s->row_segment, (*next)++, &(struct row_segment){entry, count, target--});
      entry += count;
      left -= count;
    } while (left > 0);
  }
}

/* A row segment's entries come one batch after the other, about .07 us an entry on an H200, where all of a
 * product takes 1 us for 9 MB of gathered rows: row segments are so long that the longest ends about when the
 * others do. Adding up pieces is a further kernel, 1 to 3 us: rows that are hardly longer stay whole. The
 * steps cost .6% more in the mean than the best of 32, 64, 128 and 256 for each of eleven graphs of .4 to 5 M
 * entries, in rows of 64 to 2048 bytes. Rows that fill the GPU by their number are not cut at less than their
 * mean, which would cut most of them. Nor are those of a dense matrix cut at less than a group's share, the
 * entries over all groups of threads that work at once. */
int32_t row_segments_limit(int64_t rows, int64_t entries, int64_t longest, int64_t row_bytes, int streams) {
  static const struct {
    double bytes;
    int32_t limit;
  } steps[] = {{80e6, 32}, {200e6, 64}, {2e9, 128}};
  enum { STEPS = sizeof steps / sizeof steps[0], WARP_BYTES = 512, MANY_ROWS = 1 << 16, GROUPS = 1 << 14 };
  const int dense = is_dense(rows, entries);
  const int32_t most = dense ? LONGEST : LONGEST_SPARSE;
  const int64_t row = row_bytes > 0 ? row_bytes : USUAL_ROW;
  const double bytes = (double)entries * (double)row;
  const int64_t share = streams && row < WARP_BYTES ? WARP_BYTES / row : 1; /* groups of a warp */
  if ((double)longest <= fmin(most, 43 + bytes / 9e5)) return most;
  const int64_t least = dense ? entries / GROUPS : rows >= MANY_ROWS ? entries / rows : 0;
  for (int i = 0; i < STEPS; i++) {
    if (least <= steps[i].limit && bytes < steps[i].bytes && steps[i].limit * share < most)
      return (int32_t)(steps[i].limit * share);
  }
  return dense ? (int32_t)smaller(larger(least, steps[STEPS - 1].limit), most) : most;
}

static int64_t longest_row(const struct csr *m) {
  int64_t longest = 0;
#pragma omp parallel for schedule(static) reduction(max : longest)
  for (int64_t i = 0; i < m->rows; i++) longest = larger(longest, degree_of(m, i));
  return longest;
}

static int32_t limit_of(const struct csr *m, const struct row_segments_plan *plan, int64_t longest) {
  const int streams = plan->streams && row_segments_may_stream(m->rows, m->nnz);
  return row_segments_limit(m->rows, m->nnz, longest, plan->row_bytes, streams);
}

struct cost_rows row_segments_foresee(const struct csr *m, const struct row_segments_plan *plan) {
  const int64_t longest = longest_row(m), limit = limit_of(m, plan, longest);
  return (struct cost_rows){smaller(longest, limit), longest > limit};
}

struct cost_rows row_segments_uncut(const struct csr *m) {
  return (struct cost_rows){longest_row(m), 0};
}

int row_segments_cut(const struct csr *m, const struct row_segments_plan *plan, struct row_segments *s) {
  *s = (struct row_segments){.csr = m, .in_order = plan->in_order};
  s->limit = limit_of(m, plan, longest_row(m));
  s->windows = windows_of(m, plan->row_bytes);
  s->early = m->rows > 0 && m->nnz / m->rows < LONGEST / EARLY ? (int32_t)(m->nnz / m->rows + 1) * EARLY
                                                               : LONGEST;
  TRY(memory_arrays("layout windows", ROOM(&s->start, 2 * s->windows + 1),
                    ROOM(&s->long_start, s->windows + 1), ROOM(&s->piece_start, s->windows + 1)));
  TRY(count_row_segments(s));
  TRY(memory_arrays("layout slots", ROOM(&s->row_segment.first, s->count),
                    ROOM(&s->row_segment.extent, s->count), ROOM(&s->row_segment.target, s->count)));
  TRY(memory_arrays("layout long rows", ROOM(&s->long_row, s->long_rows),
                    ROOM(&s->long_target, s->long_rows)));
  TRY(memory_arrays("layout pieces", ROOM(&s->piece_row, s->pieces)));
#pragma omp parallel for schedule(static)
  for (int64_t w = 0; w < s->windows; w++) fill_window(s, w);
  return list_tall_rows(s);
}
