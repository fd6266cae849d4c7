#include "tests/kernels/every_table.h"

#include "runtime/csr.h"

static const int64_t widths[] = {1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 41, 64, 65, 100, 128, 256, 602};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

/* A matrix of `rows` rows with degrees 0, 1, 2, ... and one of 700; every third row is empty. */
static void make_csr(struct csr *m, int64_t rows, int64_t cols, int weighted) {
  int64_t nnz = 0, at = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t v = 0; v < rows; v++) {
      int64_t degree = v % 3 == 0 ? 0 : v == 4 ? 700 : v % 23;
      if (degree > cols) degree = cols;
      if (pass == 0) nnz += degree;
      for (int64_t e = 0; pass == 1 && e < degree; e++, at++) {
        m->col[at] = (int32_t)(e * cols / degree);
        if (weighted) m->weight[at] = (float)floor(noise(5, at) * 8) / 8;
      }
      if (pass == 1) m->start[v + 1] = at;
    }
    if (pass == 0) assert_ok(csr_init(m, rows, cols, nnz, weighted));
  }
}

/* The formula of struct spmm without its update, in double. */
struct reference {
  const struct csr *a;
  int64_t width, rows;
  const double *x, *col_scale, *self_scale, *self, *self_col_scale, *row_scale, *y;
  const uint8_t *unfinished;
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
      y[v * r->width + j] = sum *
                            (r->row_scale && !(r->unfinished && r->unfinished[v]) ? r->row_scale[v] : 1);
    }
  }
}

enum { ROWS = 61, COLS = 800 };

static void sums_of_integers(struct kernels *k) {
  for (int weighted = 0; weighted < 2; weighted++) {
    struct csr m = {0};
    struct layout *a = NULL;
    make_csr(&m, ROWS, COLS, weighted);
    assert_ok(layout_init(k, &m, &a));
    for (int i = 0; i < WIDTHS; i++) {
      int64_t width = widths[i];
      double *x = integer_block(1, COLS * width), *expected = host_block(ROWS * width * 8);
      struct tensor y = padded_matrix(k, NULL, ROWS, width, 5);
      assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = padded_matrix(k, x, COLS, width, 3), .y = y}));
      compute(
          &(struct reference){
              .a = &m, .width = width, .rows = ROWS, .x = x, .y = host_block(ROWS * width * 8)},
          expected);
      assert_all_equal(values_of(k, y), expected, ROWS * width);
    }
    layout_free(k, a);
    csr_free(&m);
  }
}

static void integers_add_up_exactly_at_every_width(void **state) {
  (void)state;
  on_every_table(sums_of_integers);
}

static void all_scales(struct kernels *k) {
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, ROWS, COLS, 1);
  assert_ok(layout_init(k, &m, &a));
  uint8_t unfinished[ROWS];
  for (int v = 0; v < ROWS; v++) unfinished[v] = v % 5 == 1;
  for (int i = 0; i < WIDTHS; i++) {
    int64_t width = widths[i];
    double *x = noise_block(1, COLS * width), *self = noise_block(2, ROWS * width);
    double *old = noise_block(3, ROWS * width), *expected = host_block(ROWS * width * 8);
    struct reference r = {.a = &m, .width = width, .rows = ROWS, .x = x, .y = old, .self = self};
    r.col_scale = noise_block(4, COLS);
    r.self_scale = noise_block(6, ROWS);
    r.self_col_scale = noise_block(7, ROWS);
    r.row_scale = noise_block(8, ROWS);
    r.unfinished = unfinished;
    compute(&r, expected);
    struct tensor y = matrix(k, old, ROWS, width);
    struct spmm op = {.a = a, .x = matrix(k, x, COLS, width), .y = y, .accumulate = 1};
    op.col_scale = reals(k, r.col_scale, COLS);
    op.self_scale = reals(k, r.self_scale, ROWS);
    op.self = padded_matrix(k, self, ROWS, width, 1);
    op.self_col_scale = reals(k, r.self_col_scale, ROWS);
    op.row_scale = reals(k, r.row_scale, ROWS);
    op.unfinished = device_block(k, unfinished, ROWS);
    assert_ok(op_spmm(k, &op));
    assert_all_close(values_of(k, y), expected, ROWS * width, tolerance_of(k));
  }
  layout_free(k, a);
  csr_free(&m);
}

static void scales_self_loops_and_accumulation_follow_the_formula(void **state) {
  (void)state;
  on_every_table(all_scales);
}

static void listed_rows(struct kernels *k) {
  enum { LISTED = 20, WIDTH = 17 };
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, LISTED, COLS, 0);
  assert_ok(memory_alloc(&m.row, LISTED * 4, "rows"));
  for (int i = 0; i < LISTED; i++) m.row[i] = 3 * i + 1;
  assert_ok(layout_init(k, &m, &a));
  double *x = integer_block(1, COLS * WIDTH), *old = integer_block(3, ROWS * WIDTH);
  double *expected = host_block(ROWS * WIDTH * 8);
  struct tensor y = matrix(k, old, ROWS, WIDTH);
  compute(&(struct reference){.a = &m, .width = WIDTH, .rows = ROWS, .x = x, .y = old}, expected);
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, x, COLS, WIDTH), .y = y, .accumulate = 1}));
  assert_all_equal(values_of(k, y), expected, ROWS * WIDTH);
  layout_free(k, a);
  csr_free(&m);
}

static void only_listed_rows_are_touched(void **state) {
  (void)state;
  on_every_table(listed_rows);
}

/* One row with 100,000 equal neighbours: every addition to a plain float sum would round the same way. */
static void long_row(struct kernels *k) {
  enum { DEGREE = 100000, WIDTH = 9 };
  struct csr m = {0};
  struct layout *a = NULL;
  assert_ok(csr_init(&m, 1, DEGREE, DEGREE, 0));
  m.start[1] = DEGREE;
  for (int e = 0; e < DEGREE; e++) m.col[e] = e;
  assert_ok(layout_init(k, &m, &a));
  double *x = host_block(DEGREE * WIDTH * 8), *expected = host_block(WIDTH * 8);
  for (int64_t i = 0; i < DEGREE * WIDTH; i++) {
    x[i] = (double)(float)(.1 + .07 * (double)(i % WIDTH));
    expected[i % WIDTH] += x[i];
  }
  struct tensor y = matrix(k, NULL, 1, WIDTH);
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, x, DEGREE, WIDTH), .y = y}));
  double *actual = values_of(k, y);
  for (int j = 0; j < WIDTH; j++) assert_close(actual[j], expected[j], 1e-5 * expected[j]);
  layout_free(k, a);
  csr_free(&m);
}

static void a_row_of_100000_neighbours_keeps_five_digits(void **state) {
  (void)state;
  on_every_table(long_row);
}

/* Twice the same product gives the same bits. */
static void repeats(struct kernels *k) {
  enum { WIDTH = 100 };
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, ROWS, COLS, 1);
  assert_ok(layout_init(k, &m, &a));
  double *x = noise_block(1, COLS * WIDTH);
  struct tensor y[2];
  for (int i = 0; i < 2; i++) {
    y[i] = matrix(k, NULL, ROWS, WIDTH);
    assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, x, COLS, WIDTH), .y = y[i]}));
  }
  assert_all_equal(values_of(k, y[0]), values_of(k, y[1]), ROWS * WIDTH);
  layout_free(k, a);
  csr_free(&m);
}

static void repeats_are_bit_equal(void **state) {
  (void)state;
  on_every_table(repeats);
}

/* The update on the finished rows gives what op_update gives, and leaves the others alone. */
static void fused_update(struct kernels *k) {
  enum { WIDTH = 41 };
  struct csr m = {0};
  struct layout *a = NULL;
  make_csr(&m, ROWS, COLS, 0);
  assert_ok(layout_init(k, &m, &a));
  set_scalars(k, (struct scalars){.epoch = 3});
  uint8_t flag[ROWS];
  for (int v = 0; v < ROWS; v++) flag[v] = v % 4 == 2;
  struct tensor x = matrix(k, noise_block(1, COLS * WIDTH), COLS, WIDTH);
  struct tensor bare = matrix(k, NULL, ROWS, WIDTH), z = matrix(k, NULL, ROWS, WIDTH), y = bare;
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = x, .y = bare}));
  double *sum = values_of(k, bare);
  struct update update = {.z = z, .activation = ACTIVATION_RELU, .y = z};
  update.bias = reals(k, noise_block(2, WIDTH), WIDTH);
  update.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), global_ids(k, ROWS));
  struct spmm op = {.a = a, .x = x, .y = z, .update = &update, .unfinished = device_block(k, flag, ROWS)};
  assert_ok(op_spmm(k, &op));
  update.z = update.y = y;
  assert_ok(op_update(k, &update));
  double *fused = values_of(k, z), *apart = values_of(k, y);
  for (int64_t i = 0; i < ROWS * WIDTH; i++) {
    double expected = flag[i / WIDTH] ? sum[i] : apart[i];
    assert_true(fused[i] == expected);
  }
  layout_free(k, a);
  csr_free(&m);
}

static void update_runs_on_finished_rows_only(void **state) {
  (void)state;
  on_every_table(fused_update);
}

static void empty_matrix(struct kernels *k) {
  struct csr none = {0}, blank = {0};
  struct layout *a = NULL, *b = NULL;
  assert_ok(csr_init(&none, 0, 0, 0, 0));
  assert_ok(csr_init(&blank, 4, 0, 0, 1));
  assert_ok(layout_init(k, &none, &a));
  assert_ok(layout_init(k, &blank, &b));
  assert_ok(op_spmm(k, &(struct spmm){.a = a, .x = matrix(k, NULL, 0, 8), .y = matrix(k, NULL, 0, 8)}));
  struct tensor y = matrix(k, NULL, 4, 8);
  assert_ok(op_spmm(k, &(struct spmm){.a = b, .x = matrix(k, NULL, 0, 8), .y = y}));
  assert_all_equal(values_of(k, y), host_block(4 * 8 * 8), 4 * 8);
  layout_free(k, a);
  layout_free(k, b);
  csr_free(&none);
  csr_free(&blank);
}

static void empty_matrices_and_rows_give_zero(void **state) {
  (void)state;
  on_every_table(empty_matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_add_up_exactly_at_every_width),
      cmocka_unit_test(scales_self_loops_and_accumulation_follow_the_formula),
      cmocka_unit_test(only_listed_rows_are_touched),
      cmocka_unit_test(a_row_of_100000_neighbours_keeps_five_digits),
      cmocka_unit_test(repeats_are_bit_equal),
      cmocka_unit_test(update_runs_on_finished_rows_only),
      cmocka_unit_test(empty_matrices_and_rows_give_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
