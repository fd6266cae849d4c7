/* Products of matrices of special shapes, by the gather alone, with tiles, condensed windows or column
 * vectors, and of plain rows, where a device has them. */
#include "tests/kernels/every_table.h"

#include "kernels/ops/sparse.h"
#include "runtime/base/csr.h"
#include "runtime/base/memory.h"

static const struct layout_plan plans[] = {{.tiers = LAYOUT_GATHER, .width = 64},
                                           {.tiers = LAYOUT_TILES, .width = 64},
                                           {.tiers = LAYOUT_WINDOWS, .width = 64},
                                           {.tiers = LAYOUT_SELECTOR, .width = 64},
                                           {.tiers = LAYOUT_AUTO, .width = 64},
                                           {.tiers = LAYOUT_CSR, .width = 64},
                                           {.tiers = LAYOUT_CSR, .csr_groups = 1, .csr_uncached = 1},
                                           {.tiers = LAYOUT_CSR, .csr_groups = 2, .csr_uncached = 1},
                                           {.tiers = LAYOUT_CSR, .csr_groups = 4, .csr_uncached = 1},
                                           {.tiers = LAYOUT_CSR, .csr_groups = 4},
                                           {.tiers = LAYOUT_VECTORS, .width = 64},
                                           {.tiers = LAYOUT_VECTORS, .width = 64, .vector_threshold = 1},
                                           {.tiers = LAYOUT_VECTORS, .width = 64, .vector_threshold = 6}};

/* Plans that lead to different layouts: the processor gathers in any. */
static int plans_of(const struct kernels *k) {
  return k->device->ops->on_host ? 1 : sizeof plans / sizeof plans[0];
}

/* The matrix with the entries that has() says. */
static struct csr matrix_of(int64_t rows, int64_t cols, int (*has)(int64_t i, int64_t j)) {
  struct csr m;
  int64_t nnz = 0;
  for (int64_t i = 0; i < rows * cols; i++) nnz += has(i / cols, i % cols);
  assert_ok(csr_init(&m, rows, cols, nnz, 0));
  for (int64_t i = 0, at = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++)
      if (has(i, j)) m.col[at++] = (int32_t)j;
    m.start[i + 1] = at;
  }
  return m;
}

static int64_t results_of(const struct csr *m) {
  return m->row && m->rows > 0 ? m->row[m->rows - 1] + 1 : m->rows;
}

/* y += m x. */
static void add_product(const struct csr *m, const double *x, int64_t width, double *y) {
  for (int64_t i = 0; i < m->rows; i++) {
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
      double weight = m->weight ? (double)m->weight[e] : 1;
      for (int64_t j = 0; j < width; j++)
        y[(m->row ? m->row[i] : i) * width + j] += weight * x[m->col[e] * width + j];
    }
  }
}

/* By every plan, exactly: sums of integers, added to integers. */
static void check_product(struct kernels *k, const struct csr *m, int64_t width) {
  int64_t count = results_of(m) * width;
  double *x = integer_block(1, m->cols * width), *old = integer_block(2, count);
  double *expected = host_block(count * 8);
  memcpy(expected, old, (size_t)count * 8);
  add_product(m, x, width, expected);
  for (int p = 0; p < plans_of(k); p++) {
    struct layout *a = NULL;
    struct spmm op = {.x = padded_matrix(k, x, m->cols, width, whole_rows(width)), .accumulate = 1};
    assert_ok(layout_init(k, m, &plans[p], &a));
    op.a = a;
    op.y = padded_matrix_of(k, k->real, old, results_of(m), width, whole_rows(width));
    assert_ok(op_spmm(k, &op));
    assert_all_equal(values_of(k, op.y), expected, count);
    layout_free(k, a);
  }
  free_blocks(k->device);
}

/* Halves, ones and twos, with which sums of integers stay exact. */
static void give_weights(struct csr *m) {
  assert_ok(memory_alloc(&m->weight, m->nnz * (int64_t)sizeof *m->weight, "weights"));
  for (int64_t e = 0; e < m->nnz; e++) m->weight[e] = (float)(1 << e % 3) / 2;
}

/* Without weights and with them. */
static void check_matrix(struct kernels *k, struct csr m) {
  static const int64_t widths[] = {1, 41, 64, 130};
  for (int i = 0; i < 4; i++) check_product(k, &m, widths[i]);
  give_weights(&m);
  for (int i = 0; i < 4; i++) check_product(k, &m, widths[i]);
  csr_free(&m);
}

static int everywhere(int64_t i, int64_t j) {
  return i >= 0 && j >= 0;
}

static int nowhere(int64_t i, int64_t j) {
  return i < 0 && j < 0;
}

/* Windows 1 and 3 of five have arcs, one of them few. */
static int in_few_windows(int64_t i, int64_t j) {
  return i / 128 == 1 ? (i + j) % 3 == 0 : i == 500 && j % 100 == 7;
}

static void special_shapes(struct kernels *k) {
  check_matrix(k, matrix_of(1, 1, everywhere));
  check_matrix(k, matrix_of(1, 1, nowhere));
  check_matrix(k, matrix_of(300, 200, everywhere));
  check_matrix(k, matrix_of(130, 1, everywhere));
  check_matrix(k, matrix_of(640, 300, nowhere));
  check_matrix(k, matrix_of(640, 300, in_few_windows));
}

TEST(single_nodes_dense_blocks_and_empty_windows_are_right) {
  on_every_type(special_shapes);
}

/* Arcs one way: dense above the diagonal. */
static int is_above(int64_t i, int64_t j) {
  return j > i && (i * 31 + j * 17) % (j < i + 150 ? 3 : 97) == 0;
}

static void directed(struct kernels *k) {
  struct csr m = matrix_of(400, 500, is_above), transpose;
  assert_ok(csr_transpose(&m, &transpose, NULL));
  check_matrix(k, m);
  check_matrix(k, transpose);
}

TEST(both_directions_of_a_directed_graph_have_tiles) {
  on_every_type(directed);
}

/* As a shard's halo part: rows with some columns of the halo, in the places that they have among all. */
static void listed(struct kernels *k) {
  struct csr m = matrix_of(400, 500, is_above);
  assert_ok(memory_alloc(&m.row, m.rows * (int64_t)sizeof *m.row, "rows"));
  for (int64_t i = 0; i < m.rows; i++) m.row[i] = (int32_t)(2 * i + i / 50);
  check_matrix(k, m);
}

TEST(listed_rows_have_tiles) {
  on_every_type(listed);
}

enum { LEAVES = 1 << 20 };

/* The middle of a star hears all leaves; each leaf hears the middle, row and column LEAVES / 2. */
static void star(struct kernels *k) {
  struct csr m;
  int32_t middle = LEAVES / 2;
  assert_ok(csr_init(&m, LEAVES, LEAVES, 2 * (LEAVES - 1), 0));
  for (int64_t i = 0, at = 0; i < LEAVES; i++) {
    if (i != middle) m.col[at++] = middle;
    for (int32_t j = 0; i == middle && j < LEAVES; j++)
      if (j != middle) m.col[at++] = j;
    m.start[i + 1] = at;
  }
  check_product(k, &m, 5);
  csr_free(&m);
}

TEST(a_star_of_a_million_is_right) {
  on_every_type(star);
}

/* Two communities, arcs to all of one's own but a few, and some between. */
static int in_communities(int64_t i, int64_t j) {
  return i / 250 == j / 250 ? (i + 2 * j) % 5 != 0 : (i * 13 + j * 7) % 101 == 0;
}

static int alike(double a, double b) {
  return isfinite(b) ? a == b : isnan(b) ? isnan(a) : a == b;
}

/* X with an infinity, a NaN and a number near the largest in some rows: each may reach whom it has an arc to.
 */
static void check_spoilt(struct kernels *k, const struct csr *m, int64_t width) {
  int64_t count = m->rows * width;
  double *x = integer_block(1, m->cols * width), *expected = host_block(count * 8);
  x[7 * width] = INFINITY;
  x[300 * width + width / 2] = NAN;
  x[301 * width + width - 1] = -INFINITY;
  x[490 * width + width - 1] = m->weight ? 0x1.FEp126 : 0x1.FEp127; /* times weights up to 2 */
  add_product(m, x, width, expected);
  for (int p = 0; p < plans_of(k); p++) {
    struct layout *a = NULL;
    assert_ok(layout_init(k, m, &plans[p], &a));
    struct tensor y = padded_matrix_of(k, k->real, NULL, m->rows, width, whole_rows(width));
    struct tensor from = padded_matrix(k, x, m->cols, width, whole_rows(width));
    assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = from, .y = y}));
    double *actual = values_of(k, y);
    for (int64_t i = 0; i < count; i++) {
      if (!alike(actual[i], element(k->real, expected[i])))
        fail_msg("row %ld, column %ld: %g, expected %g", (long)(i / width), (long)(i % width), actual[i],
                 expected[i]);
    }
    layout_free(k, a);
  }
  free_blocks(k->device);
}

static void spoilt(struct kernels *k) {
  static const int64_t widths[] = {1, 5, 64, 100, 200};
  struct csr m = matrix_of(500, 500, in_communities);
  for (int weighted = 0; weighted < 2; weighted++) {
    if (weighted) give_weights(&m);
    for (int i = 0; i < 5; i++) check_spoilt(k, &m, widths[i]);
  }
  csr_free(&m);
}

TEST(numbers_that_are_not_finite_reach_their_neighbours_alone) {
  on_every_type(spoilt);
}
