/* Products whose X is two matrices, the second of which comes while tensor cores work on the first. */
#include "kernels/format/layout.h"
#include "kernels/ops/elementwise.h"
#include "tests/kernels/sparse_products.h"

/* Rows of the result: LISTED are computed, every second one from the second on, or the first ones. */
enum { LISTED = 333, RESULTS = 2 * LISTED + 3 };

struct case_of_two {
  int64_t near, far, width;
  int weighted, listed, scaled;
  int far_first, packed; /* how the second matrix lies, beside the first */
  enum layout_tiers tiers;
};

/* Dense regions among the columns of the first matrix, and some of the second; entries of each everywhere. */
static int64_t column(const struct case_of_two *c, int64_t v, int64_t e, int64_t degree) {
  const int64_t dense = degree / 2, first = v / 128 * 64 % (c->near - dense);
  if (e < dense) return first + e;
  const int64_t rest = degree - dense, from = first + dense, cols = c->near + c->far;
  return from + (e - dense) * (cols - from) / rest;
}

static int64_t degree(int64_t v) {
  return v == 7 ? 700 : v % 9 == 4 ? 0 : 60 + v % 40;
}

static void make_matrix(const struct case_of_two *c, struct csr *m) {
  int64_t nnz = 0, at = 0;
  for (int64_t v = 0; v < LISTED; v++) nnz += degree(v);
  assert_ok(csr_init(m, LISTED, c->near + c->far, nnz, c->weighted));
  m->near = c->near;
  if (c->listed) assert_ok(memory_arrays("rows", ROOM(&m->row, LISTED)));
  for (int64_t v = 0; v < LISTED; v++) {
    if (m->row) m->row[v] = (int32_t)(2 * v + 1);
    for (int64_t e = 0; e < degree(v); e++, at++) {
      m->col[at] = (int32_t)column(c, v, e, degree(v));
      if (c->weighted) m->weight[at] = (float)(1 + (at % 7)) / 8;
    }
    m->start[v + 1] = at;
  }
}

struct scales {
  double *self, *row; /* NULL: none, 1 */
};

/* x: all rows, one matrix behind the other. */
static double expected_at(const struct case_of_two *c, const struct csr *m, const struct scales *s,
                          const double *x, int64_t i, int64_t j) {
  const int64_t v = m->row ? m->row[i] : i;
  double sum = s->self ? s->self[v] * x[v * c->width + j] : 0;
  for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
    const int64_t u = m->col[e];
    sum += (m->weight ? (double)m->weight[e] : 1) * x[u * c->width + j];
  }
  return s->row ? s->row[v] * sum : sum;
}

static void check_result(struct kernels *k, const struct case_of_two *c, const struct csr *m,
                         const struct scales *s, const double *x, struct tensor y) {
  const double *actual = result_of(k, y);
  uint8_t touched[RESULTS] = {0};
  double size = 8;
  const double tolerance = tolerance_of(k);
  for (int64_t i = 0; i < m->rows * c->width; i++)
    size = fmax(size, fabs(expected_at(c, m, s, x, i / c->width, i % c->width)));
  for (int64_t i = 0; i < m->rows; i++) {
    const int64_t v = m->row ? m->row[i] : i;
    touched[v] = 1;
    for (int64_t j = 0; j < c->width; j++)
      assert_close(actual[v * c->width + j], expected_at(c, m, s, x, i, j), tolerance * size);
  }
  for (int64_t v = 0; v < RESULTS; v++)
    for (int64_t j = 0; !touched[v] && j < c->width; j++) assert_true(actual[v * c->width + j] == 99);
}

/* Both matrices in one block, whose numbers are 99. */
static void place(struct kernels *k, const struct case_of_two *c, struct tensor *near, struct tensor *far) {
  const struct tensor none = {.dtype = k->dtype};
  *near = tensor_narrowed(none, c->width);
  *far = c->packed ? tensor_packed(none, c->width) : *near;
  near->rows = c->near;
  far->rows = c->far;
  const int64_t numbers = c->near * near->stride + c->far * far->stride;
  double *values = host_block(numbers * 8);
  for (int64_t i = 0; i < numbers; i++) values[i] = 99;
  char *block = elements(k, k->dtype, values, numbers);
  near->data = block + (c->far_first ? tensor_bytes(*far) : 0);
  far->data = block + (c->far_first ? 0 : tensor_bytes(*near));
}

static void come(struct kernels *k, const double *values, struct tensor to) {
  const struct tensor from = padded_matrix(k, values, to.rows, to.cols, whole_rows(to.cols));
  assert_ok(op_gather(k, &(struct gather){.x = from, .y = to}));
}

static void check(struct kernels *k, const struct case_of_two *c) {
  const int64_t all = c->near + c->far;
  struct csr m = {0};
  struct layout *a = NULL;
  struct scales s = {0};
  struct tensor near, far;
  make_matrix(c, &m);
  const struct layout_plan plan = {.tiers = c->tiers, .width = 64};
  assert_ok(layout_init(k, &m, &plan, &a));
  if (c->tiers == LAYOUT_TILES && !k->device->ops->on_host) assert_true(a->tiles > 0);
  double *x = rounded(k, noise_block(1, all * c->width), all * c->width);
  place(k, c, &near, &far);
  come(k, x, near);
  struct spmm op = {.a = a, .x = near, .phase = SPMM_AHEAD};
  op.y = padded_matrix(k, NULL, RESULTS, c->width, whole_rows(c->width));
  if (c->scaled) {
    s = (struct scales){noise_block(6, RESULTS), noise_block(8, RESULTS)};
    op.self_scale = reals(k, s.self, RESULTS);
    op.self = tensor_rows(op.x, 0, RESULTS);
    op.row_scale = reals(k, s.row, RESULTS);
  }
  assert_ok(op_spmm(k, &op));
  come(k, x + c->near * c->width, far);
  op.far = far;
  op.phase = SPMM_REST;
  assert_ok(op_spmm(k, &op));
  check_result(k, c, &m, &s, x, op.y);
  struct spmm whole = op;
  whole.phase = SPMM_WHOLE;
  whole.y = padded_matrix(k, NULL, RESULTS, c->width, whole_rows(c->width));
  assert_ok(op_spmm(k, &whole));
  assert_all_equal(result_of(k, whole.y), result_of(k, op.y), RESULTS * c->width);
  layout_free(k, a);
  csr_free(&m);
  free_blocks(k->device);
}

static void two_matrices(struct kernels *k) {
  static const int64_t widths[] = {1, 8, 41, 47, 64, 100, 200};
  static const enum layout_tiers tiers[] = {LAYOUT_GATHER, LAYOUT_TILES, LAYOUT_TILES_ALL, LAYOUT_AUTO};
  for (int i = 0; i < 7 * 4 * 2; i++) {
    const struct case_of_two c = {.near = i % 3 ? 704 : 707, /* of whole segments of tiles, or not */
                                  .far = 331,
                                  .width = widths[i % 7],
                                  .weighted = (i / 7 + i / 28) % 2,
                                  .listed = i % 5 < 3,
                                  .scaled = i / 28,
                                  .far_first = i % 2,
                                  .packed = i / 2 % 2,
                                  .tiers = tiers[i / 7 % 4]};
    check(k, &c);
  }
}

TEST(the_second_matrix_is_read_when_it_has_come) {
  on_every_table(two_matrices);
}
