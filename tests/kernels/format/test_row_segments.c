/* Row segments hold every entry once and stand in their order: those far longer than the mean, then window by
 * window with the longest first; and the last window is all that a GPU works on at once. */
#include "kernels/format/row_segments.h"

#include "runtime/base/base.h"
#include "tests/kernels/format/multiply.h"
#include "tests/kernels/synthetic_matrix.h"

enum { COLS = 5000, WINDOW = 1024, LAST = 48 * WINDOW };

static int64_t more, last; /* entries of every row; rows of the last window, at most */

/* Most rows have up to 12 entries more, some 700, one 3,000. */
static int64_t degree_of(int64_t i) {
  return more + (i == 4321 ? 3000 : i % 5003 == 7 ? 700 : i * 7919 % 13);
}

static struct csr matrix_of(int64_t rows) {
  struct csr m;
  int64_t entries = 0;
  for (int64_t i = 0; i < rows; i++) entries += degree_of(i);
  assert_ok(csr_init(&m, rows, COLS, entries, 0));
  for (int64_t i = 0; i < rows; i++) {
    m.start[i + 1] = m.start[i] + degree_of(i);
    for (int64_t e = 0; e < degree_of(i); e++) m.col[m.start[i] + e] = (int32_t)((i + e) % COLS);
  }
  return m;
}

static struct row_segment segment_at(const struct row_segments *s, int64_t at) {
  return row_segment_of(s->row_segment.first[at], s->row_segment.extent[at], s->row_segment.target[at]);
}

static int64_t row_of(const struct row_segments *s, const struct row_segment *segment) {
  return segment->target >= 0 ? segment->target : s->piece_row[~segment->target];
}

static int64_t window_of(int64_t row, int64_t rows) {
  return smaller(row, larger(rows - last, 0) + WINDOW - 1) / WINDOW;
}

static void check_order(const struct row_segments *s, int64_t first, int64_t end) {
  struct row_segment before = segment_at(s, first);
  for (int64_t at = first + 1; at < end; at++) {
    const struct row_segment here = segment_at(s, at);
    const int64_t rows = s->csr->rows, window = window_of(row_of(s, &before), rows);
    assert_true(window_of(row_of(s, &here), rows) >= window);
    if (window_of(row_of(s, &here), rows) == window) assert_true(here.count <= before.count);
    before = here;
  }
}

static void check_sums(const struct row_segments *s) {
  const struct csr *m = s->csr;
  double *x = calloc(COLS, sizeof *x), *y = calloc((size_t)m->rows, sizeof *y);
  for (int64_t j = 0; j < COLS; j++) x[j] = (double)(j * j % 1009);
  assert_ok(row_segments_multiply(s, x, 1, y));
  for (int64_t i = 0; i < m->rows; i++) {
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) y[i] -= x[m->col[e]];
    assert_true(y[i] == 0);
  }
  free(x);
  free(y);
}

static void check_rows(int64_t rows, int64_t row_bytes) {
  struct csr m = matrix_of(rows);
  struct row_segments s;
  assert_ok(row_segments_cut(&m, &(struct row_segments_plan){.row_bytes = row_bytes}, &s));
  const int64_t early = s.start[s.windows];
  for (int64_t at = 0; at < s.count; at++) assert_int_equal(segment_at(&s, at).count > s.early, at < early);
  check_order(&s, 0, early);
  check_order(&s, early, s.count);
  check_sums(&s);
  row_segments_free(&s);
  csr_free(&m);
}

TEST(windows_begin_with_their_longest_row_segments) {
  last = LAST;
  check_rows(LAST + 3 * WINDOW + 1, 0);
  check_rows(LAST + 1, 256);
  check_rows(LAST, 32);
  check_rows(5000, 512);
}

TEST(the_last_window_of_wide_rows_is_shorter_unless_they_are_dense) {
  last = LAST / 4;
  check_rows(LAST + 5, 1024);
  last = WINDOW;
  check_rows(LAST + 5, 1 << 20);
  more = 100, last = LAST;
  check_rows(LAST + WINDOW, 1024);
  more = 0;
}

TEST(row_segments_may_stand_as_their_rows_do) {
  struct csr m = matrix_of(70000);
  struct row_segments s;
  assert_ok(row_segments_cut(&m, &(struct row_segments_plan){.in_order = 1}, &s));
  for (int64_t at = 1, next = segment_at(&s, 0).count; at < s.count; at++) {
    assert_int_equal(segment_at(&s, at).first, next);
    next += segment_at(&s, at).count;
  }
  check_sums(&s);
  row_segments_free(&s);
  csr_free(&m);
}

TEST(a_matrix_may_have_no_rows) {
  struct csr m = matrix_of(0);
  struct row_segments s;
  assert_ok(row_segments_cut(&m, &(struct row_segments_plan){0}, &s));
  assert_int_equal(s.count, 0);
  row_segments_free(&s);
  csr_free(&m);
}
