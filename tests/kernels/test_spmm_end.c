#include "tests/kernels/sparse_products.h"

/* A product with an update of every part. */
struct updated {
  const struct csr *m;
  const struct layout *a;
  int64_t width;
  enum norm norm;
  int in_place, residual, added; /* added: and rows are scaled before */
};

static struct update make_update(struct kernels *k, const struct updated *u, enum dtype type,
                                 struct tensor z) {
  int64_t rows = z.rows, width = z.cols;
  struct update update = {.z = z, .norm = u->norm, .activation = ACTIVATION_RELU, .epsilon = 1e-5};
  update.bias = reals(k, noise_block(2, width), width);
  update.gain = reals(k, noise_block(3, width), width);
  update.shift = reals(k, noise_block(4, width), width);
  update.mean = reals(k, host_block(rows * 8), rows);
  update.rstd = reals(k, host_block(rows * 8), rows);
  update.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), global_ids(k, rows));
  update.y = u->in_place ? z : padded_matrix_of(k, type, NULL, rows, width, whole_rows(width));
  if (u->residual)
    update.residual = padded_matrix_of(k, type, rounded(k, noise_block(9, rows * width), rows * width), rows,
                                       width, whole_rows(width));
  return update;
}

/* How far a row's sums may move where they are rounded on their way to the norm, doubled by the dropout. */
static double rounding_of_row(const double *sum, int64_t width, enum dtype type) {
  double largest = 0;
  for (int64_t j = 0; j < width && type == BF16; j++) largest = fmax(largest, fabs(sum[j]));
  return 2 * largest / 256;
}

/* Factors that cost no bits. */
static void *halves_and_twos(struct kernels *k, int64_t rows) {
  double *factor = host_block(rows * 8);
  for (int64_t v = 0; v < rows; v++) factor[v] = v % 3 ? .5 : 2;
  return reals(k, factor, rows);
}

/* The sums past what is done to them before the update. */
static struct tensor finished_sums(struct kernels *k, const struct updated *u, struct spmm op) {
  struct tensor z = padded_matrix_of(k, k->real, NULL, op.y.rows, u->width, whole_rows(u->width));
  struct tensor added = op.added;
  op.y = z;
  op.added.data = NULL;
  assert_ok(op_spmm(k, &op));
  if (added.data) assert_ok(op_add(k, &(struct add){.x = added, .factor = 1, .accumulate = 1, .y = z}));
  return z;
}

/* The fused result against the bare sums in reals and an update of their own, on rows that finish; the others
 * keep the bare sums. */
static void check_update(struct kernels *k, const struct updated *u, enum dtype type) {
  int64_t rows = u->m->rows, cols = u->m->cols, width = u->width, count = rows * width;
  int apart = type != k->real;
  uint8_t *flag = host_block(rows);
  for (int64_t v = 0; v < rows; v++) flag[v] = v % 4 == 2;
  struct tensor x = padded_matrix(k, noise_block(1, cols * width), cols, width, whole_rows(width));
  struct tensor bare = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  assert_ok(op_spmm(k, &(struct spmm){.a = u->a, .x = x, .y = bare}));
  double *sum = result_of(k, bare);
  struct spmm op = {.a = u->a, .x = x, .y = bare};
  if (u->added) op.row_scale = halves_and_twos(k, rows);
  if (u->added) op.added = padded_matrix(k, noise_block(7, count), rows, width, whole_rows(width));
  struct update alone = make_update(k, u, k->real, finished_sums(k, u, op));
  double *z = result_of(k, alone.z);
  op.unfinished = device_block(k, flag, rows);
  op.y = padded_matrix_of(k, type, NULL, rows, width, whole_rows(width));
  if (apart) op.sums = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  struct update fused = make_update(k, u, type, op.y);
  op.update = &fused;
  assert_ok(op_spmm(k, &op));
  assert_ok(op_update(k, &alone));
  double *rest = result_of(k, apart ? op.sums : op.y);
  double *actual = result_of(k, fused.y), *expected = result_of(k, alone.y);
  double *mean[2] = {doubles(k, fused.mean, rows), doubles(k, alone.mean, rows)};
  double *rstd[2] = {doubles(k, fused.rstd, rows), doubles(k, alone.rstd, rows)};
  double tolerance = u->norm == NORM_NONE ? 0 : 8 * tolerance_in(k, type);
  double moved = 0;
  for (int64_t i = 0; i < count; i++) {
    if (i % width == 0 && tolerance > 0) moved = rounding_of_row(z + i, width, type) * rstd[1][i / width];
    if (flag[i / width])
      assert_true(rest[i] == sum[i]);
    else if (tolerance == 0)
      assert_true(actual[i] == element(type, expected[i]));
    else
      assert_close(actual[i], expected[i], tolerance + moved);
  }
  for (int64_t v = 0; v < rows && u->norm == NORM_LAYER; v++) {
    if (flag[v]) continue;
    double rounding = rounding_of_row(z + v * width, width, type);
    assert_close(mean[0][v], mean[1][v], tolerance + rounding);
    assert_close(rstd[0][v], rstd[1][v], (tolerance + rounding * rstd[1][v]) * fmax(1, rstd[1][v]));
  }
  free_blocks(k->device);
}

/* Rows that finish end with the gradient of a ReLU below, and of its dropout, from what it kept. */
static void check_below(struct kernels *k, const struct updated *u) {
  int64_t rows = u->m->rows, cols = u->m->cols, width = u->width, count = rows * width;
  uint8_t *flag = host_block(rows);
  for (int64_t v = 0; v < rows; v++) flag[v] = v % 4 == 2;
  double *kept = rounded(k, noise_block(8, count), count);
  struct tensor x = padded_matrix(k, noise_block(1, cols * width), cols, width, whole_rows(width));
  struct spmm op = {.a = u->a, .x = x};
  op.y = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  assert_ok(op_spmm(k, &op));
  double *bare = result_of(k, op.y);
  if (u->added) op.row_scale = halves_and_twos(k, rows);
  if (u->added) op.added = padded_matrix(k, noise_block(7, count), rows, width, whole_rows(width));
  double *sum = result_of(k, finished_sums(k, u, op));
  op.unfinished = device_block(k, flag, rows);
  op.y = padded_matrix(k, NULL, rows, width, whole_rows(width));
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, rows, width, whole_rows(width));
  struct tensor saved = padded_matrix(k, kept, rows, width, whole_rows(width));
  struct update forward = {.z = saved, .activation = ACTIVATION_RELU, .y = saved};
  struct update_backward below = {.forward = &forward, .dy = op.y, .dz = op.y};
  if (u->in_place)
    forward.dropout = dropout_of(.5, random_key(1, 0, 0, RANDOM_DROPOUT_HIDDEN), global_ids(k, rows));
  op.below = &below;
  assert_true(op_spmm_may_end(&below));
  assert_ok(op_spmm(k, &op));
  double *rest = result_of(k, op.sums.data ? op.sums : op.y), *actual = result_of(k, op.y);
  for (int64_t i = 0; i < count; i++) {
    if (flag[i / width])
      assert_true(rest[i] == bare[i]);
    else
      assert_true(actual[i] == element(k->dtype, kept[i] > 0 ? sum[i] * (u->in_place ? 2 : 1) : 0));
  }
  free_blocks(k->device);
}

static void fused_update(struct kernels *k) {
  static const int64_t some[] = {3, 30, 41, 100, 200, 602};
  enum dtype type[2];
  int types = result_types(k, type);
  set_scalars(k, (struct scalars){.epoch = 3});
  for (int kind = 0; kind < KINDS; kind++) {
    struct csr m = {0};
    struct layout *a = NULL;
    make_csr(&m, &kinds[kind], 0);
    assert_ok(make_layout(k, &m, &kinds[kind], &a));
    for (int i = 0; i < 6 * 8; i++) {
      struct updated u = {&m,         a,          some[i / 8],    i & 1 ? NORM_LAYER : NORM_NONE,
                          i >> 1 & 1, i >> 2 & 1, (i / 8 + i) & 1};
      for (int t = 0; t < types; t++) check_update(k, &u, type[t]);
      if (u.norm == NORM_NONE && !u.residual) check_below(k, &u);
    }
    layout_free(k, a);
    csr_free(&m);
  }
}

static void update_and_layer_norm_end_the_rows_that_finish(void **state) {
  (void)state;
  on_every_type(fused_update);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(update_and_layer_norm_end_the_rows_that_finish),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
