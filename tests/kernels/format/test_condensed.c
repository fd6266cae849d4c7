/* Every non-zero stands in one block or in the rest, and nothing else does, of windows and of column vectors;
 * blocks and the row segments of the rest, read plainly, give the product; windows are chosen as the rule and
 * the regression say. */
#include "kernels/format/condensed.h"

#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "kernels/format/window_pieces.h"
#include "runtime/base/random.h"
#include "tests/kernels/format/condensed_split.h"
#include "tests/kernels/format/multiply.h"
#include "tests/kernels/synthetic_matrix.h"

/* Rows of two windows in three share columns, a few at every seventh; others have a few anywhere. */
static int has_arc(int64_t i, int64_t j) {
  uint32_t bits = random_block(random_key(5, 0, 0, RANDOM_IMPORT), (uint64_t)i, (uint64_t)j).word[0] % 1000;
  int dense = i / 16 % 3 != 1 && j % 7 == i / 16 % 7;
  return i % 29 != 4 && bits < (dense ? 500u : 3u);
}

static struct csr matrix_of(int64_t rows, int64_t cols, int weighted, int apart) {
  struct csr m = synthetic_matrix(rows, cols, has_arc);
  if (weighted) m.weight = calloc((size_t)m.nnz + 1, sizeof *m.weight);
  for (int64_t e = 0; e < m.nnz && weighted; e++) m.weight[e] = (float)(e % 13) - 5.5F;
  if (apart > 1) m.row = calloc((size_t)rows + 1, sizeof *m.row);
  for (int64_t i = 0; i < rows && m.row; i++) m.row[i] = (int32_t)(i * apart + 1);
  return m;
}

static const struct window_rule some = {.arc = 1, .block = 40}, none = {.arc = 1, .block = 1e9},
                                all_vectors = {.vectors = 1}, some_vectors = {.vectors = 3};

/* How often (row, col) is there: in blocks and in the rest. */
static int times_there(const struct condensed *c, const struct csr *rest, int64_t row, int32_t col) {
  int times = 0, side = c->side;
  int64_t w = row / side;
  for (int64_t p = c->start[w] * side; p < c->start[w + 1] * side; p++) {
    struct block_bit at = block_bit_of(side, (int)(row % side), (int)(p % side));
    if (c->col[p] == col) times += c->bits[p / side * side * side / 8 + at.byte] >> at.bit & 1;
  }
  for (int64_t e = rest->start[row]; e < rest->start[row + 1]; e++) times += rest->col[e] == col;
  return times;
}

static void check_split(int64_t rows, int64_t cols, const struct window_rule *rule) {
  struct csr m = matrix_of(rows, cols, 0, 1), rest;
  struct condensed c;
  assert_ok(condensed_split(&m, rule, &c, &rest));
  assert_int_equal(c.entries + rest.nnz, m.nnz);
  if (rule == &none) assert_int_equal(c.taken, 0);
  if (rule == &window_rule_all || rule == &all_vectors) assert_int_equal(rest.nnz, 0);
  if ((rule == &some || rule == &some_vectors) && rows > 100) assert_true(c.taken > 0 && rest.nnz > 0);
  for (int64_t i = 0; i < rows; i++) {
    for (int32_t j = 0; j < cols; j++) assert_int_equal(times_there(&c, &rest, i, j), has_arc(i, j));
  }
  condensed_free(&c);
  tiles_rest_free(&rest);
  csr_free(&m);
}

TEST(every_non_zero_is_in_one_block_or_in_the_rest) {
  const struct window_rule *rules[] = {&window_rule_all, &some, &none, &all_vectors, &some_vectors};
  for (int i = 0; i < 5; i++) {
    check_split(500, 500, rules[i]);
    check_split(77, 1290, rules[i]);
    check_split(1, 1, rules[i]);
    check_split(17, 5000, rules[i]);
    check_split(0, 10, rules[i]);
  }
}

static void check_product(int64_t rows, int64_t cols, const struct window_rule *rule, int weighted,
                          int apart) {
  enum { WIDTH = 3 };
  struct csr m = matrix_of(rows, cols, weighted, apart), rest;
  struct condensed c;
  struct row_segments row_segments = {0};
  int64_t results = rows * apart + 1;
  double *x = calloc((size_t)(cols * WIDTH) + 1, sizeof *x);
  double *expected = calloc((size_t)(results * WIDTH), sizeof *expected);
  double *y = calloc((size_t)(results * WIDTH), sizeof *y);
  for (int64_t i = 0; i < cols * WIDTH; i++) x[i] = (double)(i * 7 % 31) - 15;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t e = m.start[i]; e < m.start[i + 1]; e++) {
      double w = weighted ? (double)m.weight[e] : 1;
      for (int j = 0; j < WIDTH; j++)
        expected[(m.row ? m.row[i] : i) * WIDTH + j] += w * x[m.col[e] * WIDTH + j];
    }
  }
  assert_ok(condensed_split(&m, rule, &c, &rest));
  assert_ok(row_segments_cut(&rest, &(struct row_segments_plan){0}, &row_segments));
  condensed_multiply(&c, &m, x, WIDTH, y);
  assert_ok(row_segments_multiply(&row_segments, x, WIDTH, y));
  for (int64_t i = 0; i < results * WIDTH; i++) assert_true(y[i] == expected[i]);
  free(x);
  free(y);
  free(expected);
  row_segments_free(&row_segments);
  condensed_free(&c);
  tiles_rest_free(&rest);
  csr_free(&m);
}

TEST(blocks_and_row_segments_add_up_to_the_product) {
  const struct window_rule *rules[] = {&window_rule_all, &some, &all_vectors, &some_vectors};
  for (int i = 0; i < 16; i++) {
    check_product(500, 500, rules[i % 4], i / 4 % 2, 1 + i / 8);
    check_product(33, 4500, rules[i % 4], i / 4 % 2, 1 + i / 8);
    check_product(1, 1, rules[i % 4], i / 4 % 2, 1 + i / 8);
  }
}

/* A column of 8 rows is in the blocks exactly where it has so many entries. */
TEST(vectors_are_taken_by_their_entries) {
  struct csr m = matrix_of(500, 300, 0, 1), rest;
  struct condensed c;
  for (int64_t threshold = 1; threshold <= VECTOR_ROWS; threshold++) {
    assert_ok(condensed_split(&m, &(struct window_rule){.vectors = threshold}, &c, &rest));
    assert_int_equal(c.side, VECTOR_ROWS);
    for (int64_t first = 0; first < m.rows; first += VECTOR_ROWS) {
      for (int32_t j = 0; j < m.cols; j++) {
        int64_t end = first + VECTOR_ROWS < m.rows ? first + VECTOR_ROWS : m.rows, entries = 0, there = 0;
        for (int64_t i = first; i < end; i++) entries += has_arc(i, j);
        for (int64_t p = c.start[first / VECTOR_ROWS] * VECTOR_ROWS;
             p < c.start[first / VECTOR_ROWS + 1] * VECTOR_ROWS; p++)
          there |= c.col[p] == j;
        assert_int_equal(there, entries >= threshold);
      }
    }
    condensed_free(&c);
    tiles_rest_free(&rest);
  }
  csr_free(&m);
}

/* The counts against the matrix cut whole, on any number of threads; of a sample about as many. */
TEST(counts_are_those_of_the_vectors) {
  struct csr m = matrix_of(700, 500, 0, 1), rest;
  struct window_choice one, three, half;
  struct condensed c;
  for (int64_t threshold = 1; threshold <= VECTOR_ROWS; threshold++) {
    assert_ok(condensed_split(&m, &(struct window_rule){.vectors = threshold}, &c, &rest));
    assert_ok(condensed_vectors(&m, threshold, 1, 1, &one));
    assert_ok(condensed_vectors(&m, threshold, 1, 3, &three));
    assert_memory_equal(&one, &three, sizeof one);
    assert_int_equal(one.windows, c.taken);
    assert_int_equal(one.blocks, c.blocks);
    assert_int_equal(one.arcs, c.entries);
    assert_int_equal(one.vectors, threshold);
    condensed_free(&c);
    tiles_rest_free(&rest);
  }
  assert_ok(condensed_vectors(&m, 2, 1, 1, &one));
  assert_ok(condensed_vectors(&m, 2, 2, 2, &half));
  assert_true(half.arcs != one.arcs && half.arcs > one.arcs / 2 && half.arcs < one.arcs * 2);
  csr_free(&m);
}

/* Ascending in a window, the last one repeated to the end of its block. */
TEST(columns_ascend_inside_a_window) {
  struct csr m = matrix_of(300, 700, 0, 1), rest;
  struct condensed c;
  assert_ok(condensed_split(&m, &window_rule_all, &c, &rest));
  assert_true(c.blocks > 20);
  for (int64_t w = 0; w < c.windows; w++) {
    int repeats = 0;
    for (int64_t p = c.start[w] * CONDENSED_COLS + 1; p < c.start[w + 1] * CONDENSED_COLS; p++) {
      assert_true(c.col[p - 1] <= c.col[p] && (repeats == 0 || c.col[p - 1] == c.col[p]));
      repeats += c.col[p - 1] == c.col[p];
    }
    assert_true(repeats < CONDENSED_COLS);
  }
  condensed_free(&c);
  tiles_rest_free(&rest);
  csr_free(&m);
}

/* What the hardware computes from the bits: register r of thread t holds row g (+ 8 for odd r), and of the
 * four columns 4q to 4q + 3 the pair r / 2, with g = t / 4 and q = t % 4. */
TEST(bits_stand_where_the_fragments_of_a_product_want_them) {
  for (int thread = 0; thread < BLOCK_BYTES; thread++) {
    for (int r = 0; r < 4; r++) {
      int row = thread / 4 + 8 * (r % 2), col = thread % 4 * 4 + r / 2 * 2;
      struct block_bit even = block_bit_of(CONDENSED_ROWS, row, col),
                       odd = block_bit_of(CONDENSED_ROWS, row, col + 1);
      assert_int_equal(even.byte, thread);
      assert_int_equal(even.bit, r);
      assert_int_equal(odd.byte, thread);
      assert_int_equal(odd.bit, 4 + r);
    }
  }
}

/* The counts against the matrix cut whole, on any number of threads; tiles leave less. */
TEST(counts_are_those_of_the_windows) {
  struct csr m = matrix_of(700, 500, 0, 1), rest;
  static struct condensing one, three, less, half;
  struct condensed c;
  assert_ok(condensed_count(&m, TILE_CELLS + 1, 1, 1, &one));
  assert_ok(condensed_count(&m, TILE_CELLS + 1, 1, 3, &three));
  assert_memory_equal(&one, &three, sizeof one);
  assert_ok(condensed_split(&m, &window_rule_all, &c, &rest));
  struct window_choice all = cost_windows_all(&window_rule_all, &one);
  assert_int_equal(all.windows, c.taken);
  assert_int_equal(all.blocks, c.blocks);
  assert_int_equal(all.arcs, m.nnz);
  assert_true(one.before > c.blocks);
  assert_ok(condensed_count(&m, 1, 1, 2, &less));
  assert_int_equal(cost_windows_all(&window_rule_all, &less).windows, 0);
  assert_ok(condensed_count(&m, 300, 1, 2, &less));
  int64_t left = cost_windows_all(&window_rule_all, &less).arcs;
  struct tiles tiles;
  struct csr beside;
  assert_ok(tiles_split(&m, 300, 1, &tiles, &beside));
  assert_true(tiles.count > 0);
  assert_int_equal(left, beside.nnz);
  assert_ok(condensed_count(&m, TILE_CELLS + 1, 2, 2, &half));
  left = cost_windows_all(&window_rule_all, &half).arcs;
  assert_true(left > m.nnz / 2 && left < m.nnz * 2);
  tiles_free(&tiles);
  tiles_rest_free(&beside);
  condensed_free(&c);
  tiles_rest_free(&rest);
  csr_free(&m);
}

TEST(windows_are_cut_into_pieces_of_a_limit) {
  const int64_t start[] = {0, 0, 5, 25, 25, 26};
  struct window_pieces pieces;
  assert_ok(window_pieces_cut(start, 5, 8, 1, &pieces));
  assert_int_equal(pieces.count, 5);
  const int32_t places[] = {0, 0, 1, 4, 4, 5};
  assert_memory_equal(pieces.start, places, sizeof places);
  int there[26] = {0};
  for (int p = 0; p < 5; p++) {
    const struct window_piece *piece = &pieces.piece[p];
    assert_true(piece->end - piece->first <= 8);
    if (p > 0) assert_true(piece->end - piece->first <= piece[-1].end - piece[-1].first);
    int w = 0;
    while (pieces.start[w + 1] <= piece->place) w++;
    assert_int_equal(piece->window, w);
    for (int i = piece->first; i < piece->end; i++) {
      assert_true(start[w] <= i && i < start[w + 1]);
      there[i]++;
    }
  }
  for (int i = 0; i < 26; i++) assert_int_equal(there[i], 1);
  window_pieces_free(&pieces);
}

/* Dense windows are taken, sparse ones are not, and few of them are left where they save too little. */
TEST(windows_are_taken_where_they_save) {
  struct cost_case c = {&cost_model_h200, PRECISION_BF16, 128, 0, {0, 0}};
  enum { ARCS = 16 * 200 * 9 / 10 };
  struct choice near = {.near_arcs = 10000. * ARCS};
  const struct choice half = {.near_arcs = 5e8, .far_arcs = 5e8}, beside = {.near_arcs = 1e9, .tiles = 1};
  struct window_rule rule = cost_window_rule(&c, 200000, &near),
                     tiled = cost_window_rule(&c, 200000, &beside);
  static struct condensing counts;
  assert_true(cost_window(&rule, 16 * 200 * .9, 200));
  assert_false(cost_window(&rule, 16 * 200 * .08, 200));
  assert_close(cost_window_rule(&c, 200000, &half).arc, rule.arc / 2, 1e-9);
  for (int i = 0; i < 2500; i++) condensing_window(&counts, ARCS, 200, 20);
  struct window_choice choice = cost_windows(&rule, &counts);
  assert_int_equal(choice.windows, 10000); /* a sample stands for all arcs */
  for (int i = 2500; i < 10000; i++) condensing_window(&counts, ARCS, 200, 20);
  assert_close(cost_windows(&rule, &counts).seconds, choice.seconds, 1e-12);
  assert_int_equal(choice.windows, 10000);
  assert_int_equal(choice.blocks, 13 * 10000);
  assert_true(choice.seconds < 0);
  rule.margin = -2e12 * choice.seconds; /* they save half of it */
  assert_int_equal(cost_windows(&rule, &counts).windows, 0);
  rule.margin /= 4;
  assert_int_equal(cost_windows(&rule, &counts).windows, 10000);
  counts = (struct condensing){0};
  condensing_window(&counts, ARCS, 200, 20);
  near.near_arcs = ARCS;
  rule = cost_window_rule(&c, 200000, &near);
  assert_int_equal(cost_windows(&rule, &counts).windows, 0);
  c.precision = PRECISION_FP32;
  assert_true(cost_window_rule(&c, 200000, &near).once > cost_window_rule(&c, 200000, &beside).once);
  assert_true(tiled.once == rule.once);
  c.model = &cost_model_cpu;
  rule = cost_window_rule(&c, 200000, &near);
  assert_false(cost_window(&rule, 16 * 200, 200));
}

/* HC-SpMM's choice: few columns that are dense, and many that need not be. */
TEST(a_regression_takes_dense_windows) {
  const struct cost_case c = {&cost_model_h100, PRECISION_BF16, 64, 0, {0}};
  const struct choice gather = {.near_arcs = 1e6, .gather_seconds = 1e-3, .tile_arcs_least = TILE_CELLS + 1};
  const struct window_rule rule = cost_selector_rule(&c, 100000, &gather);
  static struct condensing windows;
  for (int columns = 16; columns <= 4096; columns *= 2) {
    int64_t least = CONDENSED_ROWS * (int64_t)columns;
    while (least > 0 && cost_window(&rule, (double)least, columns)) least--;
    const double density = (double)(least + 1) / CONDENSED_ROWS / columns,
                 expected = (30.7 - 18.5 - 7.22 * fmin(columns, 1000) / 1000) / 30.7;
    assert_true(fabs(density - expected) < 1.01 / CONDENSED_ROWS / columns);
  }
  condensing_window(&windows, 16 * 20, 32, 4);                                       /* .63 */
  condensing_window(&windows, 16 * 4, 32, 4);                                        /* .13 */
  assert_int_equal(cost_windows_taken(&rule, &windows).windows, llround(1e6 / 384)); /* for all arcs */
}
