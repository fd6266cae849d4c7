#include "kernels/ops/elementwise.h"
#include "tests/kernels/every_table.h"

/* offset: of all elements, beside which they differ by little. */
static void check(struct kernels *k, int64_t rows, int64_t cols, int64_t pad, double offset,
                  double tolerance) {
  double *x = noise_block(1, rows * cols), *sum = host_block(cols * 8), *squares = host_block(cols * 8);
  for (int64_t i = 0; i < rows * cols; i++) x[i] += offset;
  rounded(k, x, rows * cols);
  for (int64_t i = 0; i < rows * cols; i++) sum[i % cols] += x[i];
  for (int64_t i = 0; i < rows * cols; i++) {
    double difference = x[i] - sum[i % cols] / (double)rows;
    squares[i % cols] += difference * difference;
  }
  struct column_sums sums = {.x = padded_matrix(k, x, rows, cols, pad), .out = reals(k, squares, cols)};
  struct column_moments moments = {
      .x = sums.x, .sum = reals(k, squares, cols), .squares = reals(k, sum, cols)};
  assert_ok(op_column_sums(k, &sums));
  assert_ok(op_column_moments(k, &moments));
  assert_all_close(doubles(k, sums.out, cols), sum, cols, tolerance);
  assert_all_close(doubles(k, moments.sum, cols), sum, cols, tolerance);
  assert_all_close(doubles(k, moments.squares, cols), squares, cols, tolerance);
}

static void shapes(struct kernels *k) {
  static const int64_t widths[] = {1, 3, 7, 8, 16, 41, 64, 602};
  for (int i = 0; i < 8; i++) {
    check(k, 33, widths[i], 1, 2, real_tolerance(k));
    check(k, 33, widths[i], OWN_GAPS, 2, real_tolerance(k));
    check(k, 33, widths[i], WIDE_GAPS, 2, real_tolerance(k));
  }
  check(k, 0, 5, 1, 2, 0);
  check(k, 1, 5, 1, 2, real_tolerance(k));
}

TEST(sums_and_squares_around_the_mean_match_a_loop) {
  on_every_table(shapes);
}

/* Of rows that come multiplied, as they were. */
static void check_divided(struct kernels *k, int64_t rows, int64_t cols, int64_t pad) {
  double *x = rounded(k, noise_block(1, rows * cols), rows * cols), *sum = host_block(cols * 8),
         *factor = row_factors(rows);
  for (int64_t i = 0; i < rows * cols; i++) sum[i % cols] += x[i] / factor[i / cols];
  struct column_sums sums = {.x = padded_matrix(k, x, rows, cols, pad),
                             .divisor = reals(k, factor, rows),
                             .out = reals(k, noise_block(2, cols), cols)};
  assert_ok(op_column_sums(k, &sums));
  assert_all_close(doubles(k, sums.out, cols), sum, cols, real_tolerance(k) * (double)rows);
}

static void divided(struct kernels *k) {
  static const int64_t widths[] = {1, 7, 8, 47, 64, 602};
  for (int i = 0; i < 6; i++) {
    check_divided(k, 333, widths[i], 1);
    check_divided(k, 333, widths[i], OWN_GAPS);
    check_divided(k, 333, widths[i], WIDE_GAPS);
  }
  check_divided(k, 0, 5, 1);
  check_divided(k, 1, 5, 1);
}

TEST(sums_of_divided_rows_match_a_loop) {
  on_every_table(divided);
}

static void tall(struct kernels *k) {
  check(k, 200000, 3, 1, 2, k->real == F64 ? 1e-12 : 1e-7);
  check(k, 200000, 3, 1, 4096, k->real == F64 ? 1e-12 : 1e-7);
}

TEST(sums_over_200000_rows_are_exact_to_the_last_digit_kept) {
  on_every_table(tall);
}

/* sums -> mean; squares -> rstd and running statistics, in one step or two; running statistics ->
 * evaluation. */
static void statistics_in_steps(struct kernels *k, int first, int last) {
  double sum[] = {6, -3}, squares[] = {12, 3}, running_mean[] = {1, 1}, running_var[] = {2, 1};
  struct batch_norm_stats op = {.cols = 2, .count = 3, .epsilon = 1e-5, .momentum = .1};
  op.mean = reals(k, sum, 2);
  op.rstd = reals(k, squares, 2);
  op.running_mean = reals(k, running_mean, 2);
  op.running_var = reals(k, running_var, 2);
  for (int step = first; step <= last; step++) {
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

static void batch_statistics(struct kernels *k) {
  statistics_in_steps(k, BATCH_NORM_MEAN, BATCH_NORM_VARIANCE);
  statistics_in_steps(k, BATCH_NORM_ALONE, BATCH_NORM_ALONE);
}

/* Of two ranks: (1, 3) and (5, 9, 12). */
static void squares_of_ranks(struct kernels *k) {
  double sum[] = {30}, own_sum[2][1] = {{4}, {26}}, squares[2][1] = {{2}, {74. / 3}}, together = 0;
  for (int rank = 0; rank < 2; rank++) {
    struct batch_norm_stats op = {.step = BATCH_NORM_MEAN, .cols = 1, .rows = 2 + rank, .count = 5};
    op.mean = reals(k, sum, 1);
    op.rstd = reals(k, squares[rank], 1);
    op.own_sum = reals(k, own_sum[rank], 1);
    assert_ok(op_batch_norm_stats(k, &op));
    together += *doubles(k, op.rstd, 1);
  }
  assert_close(together, 25 + 9 + 1 + 9 + 36, 1e-5);
}

TEST(squares_around_means_of_ranks_become_those_around_the_mean_of_all) {
  on_every_table(squares_of_ranks);
}

TEST(batch_statistics_come_from_sums_and_move_the_running_ones) {
  on_every_table(batch_statistics);
}
