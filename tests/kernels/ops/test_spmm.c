#include "runtime/base/integer.h"
#include "tests/kernels/sparse_products.h"

static const int64_t widths[] = {1,  2,  3,  5,  7,   8,   9,   16,  17,  31, 41,
                                 47, 64, 65, 96, 100, 104, 128, 200, 256, 602};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

/* The formula of struct spmm without its update, in double. */
struct reference {
  const struct csr *a;
  int64_t width, rows;
  const double *x, *col_scale, *self_scale, *self, *self_col_scale, *row_scale, *y;
  const uint8_t *has_halo;
};

static void compute(const struct reference *r, double *y) {
  memcpy(y, r->y, (size_t)(r->rows * r->width) * 8);
  for (int64_t i = 0; i < r->a->rows; i++) {
    int64_t v = r->a->row ? r->a->row[i] : i;
    for (int64_t j = 0; j < r->width; j++) {
      double sum = r->y[v * r->width + j];
      for (int64_t e = r->a->start[i]; e < r->a->start[i + 1]; e++) {
        int64_t u = r->a->col[e];
        double w = r->a->weight ? (double)r->a->weight[e] : 1;
        sum += w * (r->col_scale ? r->col_scale[u] : 1) * r->x[u * r->width + j];
      }
      if (r->self_scale)
        sum += r->self_scale[v] * (r->self_col_scale ? r->self_col_scale[v] : 1) * r->self[v * r->width + j];
      y[v * r->width + j] = sum * (r->row_scale && !(r->has_halo && r->has_halo[v]) ? r->row_scale[v] : 1);
    }
  }
}

static void check_integers(struct kernels *k, const struct csr *m, const struct layout *a, int64_t width) {
  enum dtype type[2];
  double *x = integer_block(1, m->cols * width), *expected = host_block(m->rows * width * 8);
  compute(
      &(struct reference){
          .a = m, .width = width, .rows = m->rows, .x = x, .y = host_block(m->rows * width * 8)},
      expected);
  int types = result_types(k, type);
  for (int anywhere = 0; anywhere < 2; anywhere++) {
    enum dtype result = type[anywhere % types];
    struct tensor from = padded_matrix(k, x, m->cols, width, padding(width, anywhere, 3));
    struct tensor y = padded_matrix_of(k, result, NULL, m->rows, width, padding(width, anywhere, 5));
    assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = from, .y = y}));
    double *actual = result_of(k, y);
    for (int64_t i = 0; i < m->rows * width; i++) assert_true(actual[i] == element(result, expected[i]));
  }
  free_blocks(k->device);
}

/* Tiles hold weights as the table's activations are. */
static void round_weights(const struct kernels *k, const struct kind *kind, struct csr *m) {
  for (int64_t e = 0; m->weight && kind->tiers == LAYOUT_TILES && e < m->nnz; e++)
    m->weight[e] = (float)element(k->dtype, (double)m->weight[e]);
}

static void sums_of_integers(struct kernels *k) {
  for (int kind = 0; kind < kinds_of(k); kind++) {
    for (int weighted = 0; weighted < 2; weighted++) {
      struct csr m = {0};
      struct layout *a = NULL;
      make_csr(&m, &kinds[kind], weighted);
      round_weights(k, &kinds[kind], &m);
      assert_ok(make_layout(k, &m, &kinds[kind], &a));
      for (int i = 0; i < WIDTHS; i++) check_integers(k, &m, a, widths[i]);
      layout_free(k, a);
      csr_free(&m);
    }
  }
}

TEST(integers_add_up_exactly_at_every_width) {
  on_every_type(sums_of_integers);
}

/* Every scale, the self loop and accumulation at once. Rows that do not finish leave their sums where
 * struct spmm says, the others are written to y; neither touches the other's. shared: X and the rows' own X
 * are the first rows of one block, between the same scales. */
static void check_scales(struct kernels *k, const struct csr *m, const struct layout *a, int64_t width,
                         enum dtype type, int shared) {
  int64_t rows = m->rows, count = rows * width, held = larger(rows, m->cols);
  int apart = type != k->real;
  uint8_t *has_halo = host_block(rows);
  for (int64_t v = 0; v < rows; v++) has_halo[v] = v % 5 == 1;
  double *old = noise_block(3, count), *expected = host_block(count * 8);
  struct reference r = {.a = m, .width = width, .rows = rows, .y = old, .has_halo = has_halo};
  double *x = rounded(k, noise_block(1, held * width), held * width);
  double *self = rounded(k, noise_block(2, count), count);
  r.x = x;
  r.self = shared ? x : self;
  r.col_scale = noise_block(4, held);
  r.self_scale = noise_block(6, rows);
  r.self_col_scale = shared ? r.col_scale : noise_block(7, rows);
  r.row_scale = noise_block(8, rows);
  compute(&r, expected);
  const struct tensor block = padded_matrix(k, x, held, width, whole_rows(width));
  struct spmm op = {.a = a, .x = tensor_rows(block, 0, m->cols), .accumulate = 1};
  op.y = padded_matrix_of(k, type, apart ? NULL : old, rows, width, whole_rows(width));
  if (apart) op.sums = real_matrix(k, old, rows, width);
  op.col_scale = reals(k, r.col_scale, held);
  op.self_scale = reals(k, r.self_scale, rows);
  op.self = shared ? tensor_rows(block, 0, rows) : padded_matrix(k, self, rows, width, 1);
  op.self_col_scale = shared ? op.col_scale : reals(k, r.self_col_scale, rows);
  op.row_scale = reals(k, r.row_scale, rows);
  op.has_halo = device_block(k, has_halo, rows);
  assert_ok(op_spmm(k, &op));
  double *y = result_of(k, op.y), *sums = apart ? result_of(k, op.sums) : y, size = 8;
  /* c X may be rounded first, and in tiles the weights. */
  double tolerance = tolerance_of(k) + (k->dtype == BF16 ? (m->weight ? 2 : 1) / 512. : 0);
  for (int64_t i = 0; i < count; i++) size = fmax(size, fabs(expected[i]));
  for (int64_t i = 0; i < count; i++) {
    int rest = has_halo[i / width];
    assert_close((rest ? sums : y)[i], expected[i], tolerance * size);
    if (apart) assert_true((rest ? y : sums)[i] == (rest ? 99 : (double)(float)old[i]));
  }
  free_blocks(k->device);
}

static void scales_of_kind(struct kernels *k, const struct kind *kind, int weighted) {
  enum dtype type[2];
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, kind, weighted);
  assert_ok(make_layout(k, &m, kind, &a));
  for (int t = 0, types = result_types(k, type); t < types; t++) {
    for (int i = 0; i < WIDTHS; i++) check_scales(k, &m, a, widths[i], type[t], (i + t) % 2);
  }
  layout_free(k, a);
  csr_free(&m);
}

/* With weights: gathered, in tiles, in condensed windows, and in plain rows. */
static void all_scales(struct kernels *k) {
  for (int kind = 0; kind < kinds_of(k); kind++) {
    scales_of_kind(k, &kinds[kind], kind % 5 == 0);
    if (kinds[kind].tiers == LAYOUT_TILES) scales_of_kind(k, &kinds[kind], 1);
  }
}

TEST(scales_self_loops_and_accumulation_follow_the_formula) {
  on_every_type(all_scales);
}

static void listed_rows(struct kernels *k) {
  enum { LISTED = 20, WIDTH = 17 };
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, &(struct kind){LISTED, COLS, 3, 1, 22, 700, 0, LAYOUT_GATHER}, 0);
  assert_ok(memory_alloc(&m.row, LISTED * 4, "rows"));
  for (int i = 0; i < LISTED; i++) m.row[i] = 3 * i + 1;
  assert_ok(layout_init(k, &m, NULL, &a));
  double *x = integer_block(1, COLS * WIDTH), *old = integer_block(3, ROWS * WIDTH);
  double *expected = host_block(ROWS * WIDTH * 8);
  struct tensor y = real_matrix(k, old, ROWS, WIDTH);
  compute(&(struct reference){.a = &m, .width = WIDTH, .rows = ROWS, .x = x, .y = old}, expected);
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, x, COLS, WIDTH), .y = y, .accumulate = 1}));
  assert_all_equal(result_of(k, y), expected, ROWS * WIDTH);
  layout_free(k, a);
  csr_free(&m);
}

TEST(only_listed_rows_are_touched) {
  on_every_type(listed_rows);
}

/* One row with 100,000 equal neighbours: every addition to a plain float sum would round the same way. */
static void long_row_of(struct kernels *k, enum layout_tiers tiers) {
  enum { DEGREE = 100000, WIDTH = 9 };
  struct csr m = {0};
  struct layout *a = NULL;
  assert_ok(csr_init(&m, 1, DEGREE, DEGREE, 0));
  m.start[1] = DEGREE;
  for (int e = 0; e < DEGREE; e++) m.col[e] = e;
  assert_ok(layout_init(k, &m, &(struct layout_plan){.tiers = tiers}, &a));
  double *x = host_block(DEGREE * WIDTH * 8), *expected = host_block(WIDTH * 8);
  for (int64_t i = 0; i < DEGREE * WIDTH; i++) {
    x[i] = element(k->dtype, (double)(float)(.1 + .07 * (double)(i % WIDTH)));
    expected[i % WIDTH] += x[i];
  }
  struct tensor y = real_matrix(k, NULL, 1, WIDTH);
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, x, DEGREE, WIDTH), .y = y}));
  double *actual = result_of(k, y);
  for (int j = 0; j < WIDTH; j++) assert_close(actual[j], expected[j], 1e-5 * expected[j]);
  layout_free(k, a);
  csr_free(&m);
}

static void long_row(struct kernels *k) {
  long_row_of(k, LAYOUT_GATHER);
  long_row_of(k, LAYOUT_CSR);
}

TEST(a_row_of_100000_neighbours_keeps_five_digits) {
  on_every_type(long_row);
}

/* Twice the same product gives the same bits. */
static void repeats(struct kernels *k) {
  enum { WIDTH = 100 };
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, &kinds[0], 1);
  assert_ok(layout_init(k, &m, NULL, &a));
  double *x = noise_block(1, COLS * WIDTH);
  struct tensor y[2];
  for (int i = 0; i < 2; i++) {
    y[i] = real_matrix(k, NULL, ROWS, WIDTH);
    assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, x, COLS, WIDTH), .y = y[i]}));
  }
  assert_all_equal(result_of(k, y[0]), result_of(k, y[1]), ROWS * WIDTH);
  layout_free(k, a);
  csr_free(&m);
}

TEST(repeats_are_bit_equal) {
  on_every_type(repeats);
}

static void empty_matrix(struct kernels *k) {
  struct csr none = {0}, blank = {0};
  struct layout *a = NULL, *b = NULL;
  assert_ok(csr_init(&none, 0, 0, 0, 0));
  assert_ok(csr_init(&blank, 4, 0, 0, 1));
  assert_ok(layout_init(k, &none, NULL, &a));
  assert_ok(layout_init(k, &blank, NULL, &b));
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, NULL, 0, 8), .y = matrix(k, NULL, 0, 8)}));
  struct tensor y = matrix(k, NULL, 4, 8);
  assert_ok(op_spmm(k, &(struct spmm){.a = b, .x = matrix(k, NULL, 0, 8), .y = y}));
  assert_all_equal(result_of(k, y), host_block(4 * 8 * 8), 4 * 8);
  layout_free(k, a);
  layout_free(k, b);
  csr_free(&none);
  csr_free(&blank);
}

TEST(empty_matrices_and_rows_give_zero) {
  on_every_type(empty_matrix);
}
