#include "tests/kernels/every_table.h"

static void check(struct kernels *k, int64_t rows, int64_t cols, int64_t pad, double tolerance) {
  double *x = noise_block(1, rows * cols), *center = noise_block(2, cols);
  double *sum = host_block(cols * 8), *squares = host_block(cols * 8);
  for (int64_t i = 0; i < rows * cols; i++) x[i] += 2;
  rounded(k, x, rows * cols);
  for (int64_t i = 0; i < rows * cols; i++) {
    sum[i % cols] += x[i];
    squares[i % cols] += (x[i] - center[i % cols]) * (x[i] - center[i % cols]);
  }
  struct column_sums op = {.x = padded_matrix(k, x, rows, cols, pad), .out = reals(k, center, cols)};
  assert_ok(op_column_sums(k, &op));
  double *plain = doubles(k, op.out, cols);
  op.center = reals(k, center, cols);
  assert_ok(op_column_sums(k, &op));
  assert_all_close(plain, sum, cols, tolerance);
  assert_all_close(doubles(k, op.out, cols), squares, cols, tolerance);
}

static void shapes(struct kernels *k) {
  static const int64_t widths[] = {1, 3, 7, 8, 16, 41, 64, 602};
  for (int i = 0; i < 8; i++) {
    check(k, 33, widths[i], 1, real_tolerance(k));
    check(k, 33, widths[i], OWN_GAPS, real_tolerance(k));
    check(k, 33, widths[i], WIDE_GAPS, real_tolerance(k));
  }
  check(k, 0, 5, 1, 0);
  check(k, 1, 5, 1, real_tolerance(k));
}

static void sums_and_squares_match_a_loop(void **state) {
  (void)state;
  on_every_table(shapes);
}

static void tall(struct kernels *k) {
  check(k, 200000, 3, 1, k->real == F64 ? 1e-12 : 1e-7);
}

static void sums_over_200000_rows_are_exact_to_the_last_digit_kept(void **state) {
  (void)state;
  on_every_table(tall);
}

/* sums -> mean; squares -> rstd and running statistics; running statistics -> evaluation. */
static void batch_statistics(struct kernels *k) {
  double sum[] = {6, -3}, squares[] = {12, 3}, running_mean[] = {1, 1}, running_var[] = {2, 1};
  struct batch_norm_stats op = {.cols = 2, .count = 3, .epsilon = 1e-5, .momentum = .1};
  op.mean = reals(k, sum, 2);
  op.rstd = reals(k, squares, 2);
  op.running_mean = reals(k, running_mean, 2);
  op.running_var = reals(k, running_var, 2);
  for (int step = BATCH_NORM_MEAN; step <= BATCH_NORM_VARIANCE; step++) {
    op.step = step;
    assert_ok(op_batch_norm_stats(k, &op));
  }
  double mean[] = {2, -1}, rstd[] = {1 / sqrt(4 + 1e-5), 1 / sqrt(1 + 1e-5)};
  double moved_mean[] = {1.1, .8}, moved_var[] = {2.4, 1.05};
  assert_all_close(doubles(k, op.mean, 2), mean, 2, 1e-6);
  assert_all_close(doubles(k, op.rstd, 2), rstd, 2, 1e-6);
  assert_all_close(doubles(k, op.running_mean, 2), moved_mean, 2, 1e-6);
  assert_all_close(doubles(k, op.running_var, 2), moved_var, 2, 1e-6);
  op.step = BATCH_NORM_RUNNING;
  assert_ok(op_batch_norm_stats(k, &op));
  double fixed[] = {1 / sqrt(2.4 + 1e-5), 1 / sqrt(1.05 + 1e-5)};
  assert_all_close(doubles(k, op.mean, 2), moved_mean, 2, 1e-6);
  assert_all_close(doubles(k, op.rstd, 2), fixed, 2, 1e-6);
}

static void batch_statistics_come_from_sums_and_move_the_running_ones(void **state) {
  (void)state;
  on_every_table(batch_statistics);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_squares_match_a_loop),
      cmocka_unit_test(sums_over_200000_rows_are_exact_to_the_last_digit_kept),
      cmocka_unit_test(batch_statistics_come_from_sums_and_move_the_running_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
