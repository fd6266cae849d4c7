/* Every non-zero stands in one tile or in the rest, and nothing else does; tiles and the row segments of the
 * rest, read plainly, give the product. */
#include "kernels/format/tiles.h"

#include "kernels/format/row_segments.h"
#include "runtime/base/random.h"
#include "tests/kernels/format/multiply.h"
#include "tests/kernels/synthetic_matrix.h"

/* Arcs of a graph of communities of 100 columns: dense blocks on the diagonal, a few arcs elsewhere. */
static int has_arc(int64_t i, int64_t j) {
  uint32_t bits = random_block(random_key(5, 0, 0, RANDOM_IMPORT), (uint64_t)i, (uint64_t)j).word[0] % 1000;
  return i % 37 != 4 && bits < (i / 100 == j / 100 ? 300 : 4);
}

static float weight_of(int64_t i, int64_t j) {
  return (float)(i * 31 + j * 7 % 64 + 1) / 8;
}

static struct csr weighted_matrix(int64_t rows, int64_t cols, int weighted) {
  struct csr m = synthetic_matrix(rows, cols, has_arc);
  if (!weighted) return m;
  m.weight = calloc((size_t)m.nnz + 1, sizeof *m.weight);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t e = m.start[i]; e < m.start[i + 1]; e++) m.weight[e] = weight_of(i, m.col[e]);
  return m;
}

/* How often (row, col) is there: in tiles and in the rest. */
static int times_there(const struct tiles *tiles, const struct csr *rest, int64_t row, int32_t col) {
  int times = 0;
  struct tile_bit at = tile_bit_of((int)(row % TILE_ROWS), col % TILE_COLS);
  int64_t w = row / TILE_ROWS;
  for (int64_t t = tiles->count ? tiles->start[w] : 0; tiles->count && t < tiles->start[w + 1]; t++)
    if (tiles->segment[t] == col / TILE_COLS)
      times += (int)(tiles->bits[t * TILE_WORDS + at.word] >> at.bit & 1);
  for (int64_t e = rest->start[row]; e < rest->start[row + 1]; e++) times += rest->col[e] == col;
  return times;
}

static int64_t bits_set(const struct tiles *tiles, int64_t tile) {
  int64_t count = 0;
  for (int i = 0; i < TILE_WORDS; i++) count += __builtin_popcount(tiles->bits[tile * TILE_WORDS + i]);
  return count;
}

static void check_split(int64_t rows, int64_t cols, int64_t least) {
  struct csr m = synthetic_matrix(rows, cols, has_arc), rest;
  struct tiles tiles;
  assert_ok(tiles_split(&m, least, 3, &tiles, &rest));
  assert_int_equal(tiles.entries + rest.nnz, m.nnz);
  int64_t in_tiles = 0;
  for (int64_t t = 0; t < tiles.count; t++) {
    assert_true(bits_set(&tiles, t) >= least);
    in_tiles += bits_set(&tiles, t);
  }
  assert_int_equal(in_tiles, tiles.entries);
  for (int64_t i = 0; i < rows; i++) {
    for (int32_t j = 0; j < cols; j++) assert_int_equal(times_there(&tiles, &rest, i, j), has_arc(i, j));
  }
  tiles_free(&tiles);
  tiles_rest_free(&rest);
  csr_free(&m);
}

/* Columns of a second matrix, and those that share a segment with them, are in no tile; they count as cells
 * of one. */
TEST(tiles_are_of_the_first_matrix_alone) {
  enum { ROWS = 500, COLS = 500, NEAR = 310, FIRST = NEAR / TILE_COLS * TILE_COLS };
  struct csr m = synthetic_matrix(ROWS, COLS, has_arc), rest;
  struct tiles tiles;
  struct density density, all;
  int64_t behind = 0;
  assert_ok(tiles_density(&m, 2, &all));
  m.near = NEAR;
  assert_ok(tiles_split(&m, 1, 3, &tiles, &rest));
  assert_ok(tiles_density(&m, 3, &density));
  for (int64_t e = 0; e < m.nnz; e++) behind += m.col[e] >= FIRST;
  assert_int_equal(rest.nnz, behind);
  assert_int_equal(rest.near, NEAR);
  for (int64_t e = 0; e < rest.nnz; e++) assert_true(rest.col[e] >= FIRST);
  for (int64_t t = 0; t < tiles.count; t++) assert_true(tiles.segment[t] < FIRST / TILE_COLS);
  assert_int_equal(density_arcs(&density), m.nnz);
  assert_true(density.arcs[1] >= behind && density.cells[1] == density.arcs[1]);
  assert_true(density_share(&density, DENSE_CELL) < density_share(&all, DENSE_CELL));
  tiles_free(&tiles);
  tiles_rest_free(&rest);
  csr_free(&m);
}

TEST(every_non_zero_is_in_one_tile_or_in_the_rest) {
  check_split(500, 500, 300);
  check_split(333, 129, 1);
  check_split(1, 1, 1);
  check_split(128, 64, 8193);
  check_split(0, 10, 1);
}

/* The product by way of tiles and of the row segments of the rest, against the matrix itself; m.row spreads
 * the rows. */
static void check_tiers(int64_t rows, int64_t cols, int64_t least, int weighted, int apart, int in_order) {
  enum { WIDTH = 3 };
  struct csr m = weighted_matrix(rows, cols, weighted), rest;
  struct tiles tiles;
  struct row_segments row_segments = {0};
  int64_t results = rows * apart + 1;
  double *x = calloc((size_t)(cols * WIDTH) + 1, sizeof *x), *expected, *y;
  expected = calloc((size_t)(results * WIDTH), sizeof *expected);
  y = calloc((size_t)(results * WIDTH), sizeof *y);
  if (apart > 1) m.row = calloc((size_t)rows, sizeof *m.row);
  for (int64_t i = 0; i < rows && m.row; i++) m.row[i] = (int32_t)(i * apart + 1);
  for (int64_t i = 0; i < cols * WIDTH; i++) x[i] = (double)(i * 7 % 31) - 15;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t e = m.start[i]; e < m.start[i + 1]; e++) {
      double weight = weighted ? (double)m.weight[e] : 1;
      for (int j = 0; j < WIDTH; j++)
        expected[(m.row ? m.row[i] : i) * WIDTH + j] += weight * x[m.col[e] * WIDTH + j];
    }
  }
  assert_ok(tiles_split(&m, least, 2, &tiles, &rest));
  assert_ok(row_segments_cut(&rest, &(struct row_segments_plan){.in_order = in_order}, &row_segments));
  tiles_multiply(&tiles, &m, x, WIDTH, y);
  assert_ok(row_segments_multiply(&row_segments, x, WIDTH, y));
  for (int64_t i = 0; i < results * WIDTH; i++) assert_true(y[i] == expected[i]);
  free(x);
  free(y);
  free(expected);
  row_segments_free(&row_segments);
  tiles_free(&tiles);
  tiles_rest_free(&rest);
  csr_free(&m);
}

TEST(tiles_and_row_segments_add_up_to_the_product) {
  for (int i = 0; i < 8; i++) {
    int apart = 1 + i % 2, in_order = i / 2 % 2, weighted = i / 4;
    check_tiers(500, 500, 300, weighted, apart, in_order);
    check_tiers(333, 1290, 1, weighted, apart, in_order);
    /* one community is 100 columns: few entries a row */
    check_tiers(40, 9000, 8193, weighted, apart, in_order);
    check_tiers(1, 1, 1, weighted, apart, in_order);
    /* windows without tiles, windows without anything */
    check_tiers(1100, 128, 500, weighted, apart, in_order);
  }
}

/* One row of a million entries among rows of one: pieces of it, each but the last of the limit. */
TEST(a_giant_row_is_cut_into_pieces) {
  enum { ENTRIES = 1 << 20, ROWS = 1000, GIANT = 700 };
  struct csr m;
  struct row_segments row_segments = {0};
  assert_ok(csr_init(&m, ROWS, ENTRIES, ENTRIES + ROWS - 1, 0));
  for (int64_t i = 0, at = 0; i < ROWS; i++) {
    for (int64_t e = 0; e < (i == GIANT ? ENTRIES : 1); e++) m.col[at++] = (int32_t)(i == GIANT ? e : i);
    m.start[i + 1] = at;
  }
  assert_ok(row_segments_cut(&m, &(struct row_segments_plan){0}, &row_segments));
  assert_int_equal(row_segments.long_rows, 1);
  assert_int_equal(row_segments.pieces, ENTRIES / row_segments.limit);
  assert_int_equal(row_segments.count, ROWS - 1 + row_segments.pieces);
  double *x = calloc(ENTRIES, sizeof *x), y[ROWS] = {0};
  for (int64_t i = 0; i < ENTRIES; i++) x[i] = (double)(i % 3);
  assert_ok(row_segments_multiply(&row_segments, x, 1, y));
  for (int64_t i = 0; i < ROWS; i++) assert_true(y[i] == (i == GIANT ? ENTRIES - 1 : (double)(i % 3)));
  free(x);
  row_segments_free(&row_segments);
  csr_free(&m);
}

/* As in a shard whose entries take more than 16 GiB, and in one that is too large. */
TEST(row_segments_name_entries_beyond_32_bits) {
  enum { ROWS = 2000 };
  const int64_t before = (int64_t)1 << 36 | 3;
  struct csr m;
  struct row_segments row_segments = {0};
  assert_ok(csr_init(&m, ROWS, ROWS, 0, 0));
  m.start[0] = before;
  for (int64_t i = 1; i <= ROWS; i++) m.start[i] = m.start[i - 1] + i % 7;
  m.nnz = m.start[ROWS];
  assert_ok(row_segments_cut(&m, &(struct row_segments_plan){0}, &row_segments));
  assert_int_equal(row_segments.count, ROWS);
  for (int64_t s = 0; s < ROWS; s++) {
    const struct row_segment row_segment = row_segment_of(row_segments.row_segment.first[s],
                                                          row_segments.row_segment.extent[s],
                                                          row_segments.row_segment.target[s]);
    assert_int_equal(row_segment.first, m.start[row_segment.target]);
    assert_int_equal(row_segment.count, m.start[row_segment.target + 1] - row_segment.first);
  }
  row_segments_free(&row_segments);
  m.nnz = (int64_t)1 << 37;
  assert_int_equal(row_segments_cut(&m, &(struct row_segments_plan){0}, &row_segments), BAD_INPUT);
  row_segments_free(&row_segments);
  csr_free(&m);
}

TEST(row_segments_are_as_long_as_the_product_allows) {
  assert_int_equal(row_segments_limit(36692, 367662, 1383, 64, 0), 32); /* 24 MB are gathered */
  assert_int_equal(row_segments_limit(36692, 367662, 1383, 256, 0), 64);
  assert_int_equal(row_segments_limit(36692, 367662, 1383, 1024, 0), 128);
  assert_int_equal(row_segments_limit(36692, 367662, 1383, 0, 0),
                   row_segments_limit(36692, 367662, 1383, 128, 0));
  assert_int_equal(row_segments_limit(169343, 2480650, 1000, 128, 0), 128);
  assert_int_equal(row_segments_limit(169343, 2480650, 200, 128, 0), 256); /* rows hardly longer stay whole */
  assert_int_equal(row_segments_limit(2449029, 131000504, 642, 256, 0), 256);
  assert_int_equal(row_segments_limit(232965, 114724500, 2000, 256, 0), 1024);
  assert_int_equal(row_segments_limit(116483, 10500000, 2000, 82, 0), 128);
  assert_int_equal(row_segments_limit(116483, 5500000, 2000, 18, 0), 64);
  assert_int_equal(row_segments_limit(116483, 8500000, 2000, 18, 0), 128); /* the mean is more than 64 */
  /* Of dense matrices a group's share: */
  assert_int_equal(row_segments_limit(116483, 15500000, 2000, 82, 0), 15500000 / 16384);
  assert_int_equal(row_segments_limit(58242, 6155842, 2211, 82, 0), 6155842 / 16384);
  assert_int_equal(row_segments_limit(58242, 6155842, 2211, 512, 0), 6155842 / 16384);
  assert_int_equal(row_segments_limit(14560, 1600000, 2000, 96, 0), 128); /* the next step */
  assert_int_equal(row_segments_limit(3640, 400000, 2000, 96, 0), 32);
  assert_int_equal(row_segments_limit(14560, 1600000, 2000, 2048, 0), 128);
  assert_int_equal(row_segments_limit(13752, 491722, 2992, 64, 0), 32); /* too few rows to fill a GPU */
  assert_int_equal(row_segments_limit(100000, 823242, 207, 64, 0), 32);
  assert_int_equal(row_segments_limit(100000, 823242, 207, 64, 1), 256); /* eight groups share one */
  assert_int_equal(row_segments_limit(40000, 200000, 300, 256, 0), 32);
  assert_int_equal(row_segments_limit(40000, 200000, 300, 256, 1), 64);
  assert_int_equal(row_segments_limit(0, 0, 0, 64, 0), 256);
  assert_true(row_segments_may_stream(100000, 823242));
  assert_false(row_segments_may_stream(1000, 8232));
  assert_false(row_segments_may_stream(100000, 1600000));
}

TEST(segments_ascend_inside_a_window) {
  struct csr m = synthetic_matrix(700, 700, has_arc), rest;
  struct tiles tiles;
  assert_ok(tiles_split(&m, 200, 1, &tiles, &rest));
  assert_true(tiles.count > 6 && rest.nnz > 0);
  for (int64_t w = 0; w < tiles.windows; w++) {
    for (int64_t t = tiles.start[w] + 1; t < tiles.start[w + 1]; t++)
      assert_true(tiles.segment[t - 1] < tiles.segment[t]);
  }
  tiles_free(&tiles);
  tiles_rest_free(&rest);
  csr_free(&m);
}

/* What the hardware computes from the bits: register r of thread t in step k holds the columns 2q, 2q + 1 (+
 * 8 for r >= 2) of row g (+ 8 for odd r) of its warp's sixteen, with g = lane / 4 and q = lane % 4. */
TEST(bits_stand_where_the_fragments_of_a_product_want_them) {
  for (int thread = 0; thread < TILE_WORDS; thread++) {
    for (int k = 0; k < 4; k++) {
      for (int r = 0; r < 4; r++) {
        int lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (r % 2);
        int col = 16 * k + 2 * (lane % 4) + 8 * (r / 2);
        struct tile_bit even = tile_bit_of(row, col), odd = tile_bit_of(row, col + 1);
        assert_int_equal(even.word, thread);
        assert_int_equal(even.bit, 4 * k + r);
        assert_int_equal(odd.word, thread);
        assert_int_equal(odd.bit, 16 + 4 * k + r);
      }
    }
  }
}

TEST(density_counts_cells_and_arcs) {
  struct csr m = synthetic_matrix(500, 300, has_arc);
  struct density one, three;
  assert_ok(tiles_density(&m, 1, &one));
  assert_ok(tiles_density(&m, 3, &three));
  assert_int_equal(density_arcs(&one), m.nnz);
  assert_memory_equal(&one, &three, sizeof one);
  assert_int_equal(one.rows, 500);
  int64_t cells = 0;
  for (int b = 0; b < DENSITY_BINS; b++) cells += one.cells[b];
  assert_true(cells > 0 && cells <= 4 * 5);
  csr_free(&m);
}

/* Weights begin anew with each strip of sixteen rows and follow the bits. */
TEST(weights_follow_the_bits) {
  struct csr m = weighted_matrix(300, 500, 1), rest;
  struct tiles tiles;
  int64_t at = 0;
  assert_ok(tiles_split(&m, 100, 2, &tiles, &rest));
  assert_true(tiles.count > 3 && rest.nnz > 0);
  for (int64_t word = 0; word < tiles.count * TILE_WORDS; word++) {
    if (word % STRIP_WORDS == 0) assert_int_equal(tiles.first[word / STRIP_WORDS], at);
    int64_t tile = word / TILE_WORDS, w = 0;
    while (tiles.start[w + 1] <= tile) w++;
    for (int bit = 0; bit < 32; bit++) {
      if (!(tiles.bits[word] >> bit & 1)) continue;
      int row = 0, col = 0;
      for (int i = 0; i < TILE_CELLS; i++) {
        struct tile_bit place = tile_bit_of(i / TILE_COLS, i % TILE_COLS);
        if (place.word == word % TILE_WORDS && place.bit == bit) row = i / TILE_COLS, col = i % TILE_COLS;
      }
      int64_t i = w * TILE_ROWS + row, j = tiles.segment[tile] * (int64_t)TILE_COLS + col;
      assert_true(tiles.value[at++] == weight_of(i, j));
    }
  }
  assert_int_equal(tiles.first[tiles.count * TILE_STRIPS], at);
  assert_int_equal(at, tiles.entries);
  for (int64_t i = 0; i < m.rows; i++)
    for (int64_t e = rest.start[i]; e < rest.start[i + 1]; e++)
      assert_true(rest.weight[e] == weight_of(i, rest.col[e]));
  tiles_free(&tiles);
  tiles_rest_free(&rest);
  csr_free(&m);
}
