#include "kernels/ops/elementwise.h"
#include "tests/kernels/every_table.h"

/* x and y of these types, rows `pad` elements apart; in place where the types are one. */
static void check_add(struct kernels *k, enum dtype from, enum dtype to, int64_t rows, int64_t cols,
                      int64_t pad) {
  static const double factor[] = {1, -.375, .5}, diagonal[] = {0, .75, 0};
  int64_t count = rows * cols;
  for (int i = 0; i < 3; i++) {
    double *x = noise_block(1, count), *y = noise_block(2, count), *expected = host_block(count * 8);
    for (int64_t j = 0; j < count; j++) {
      x[j] = element(from, x[j]);
      y[j] = element(to, y[j]);
      expected[j] = (i == 2 ? y[j] : 0) + factor[i] * x[j] + (j / cols == j % cols ? diagonal[i] : 0);
    }
    struct add op = {.x = padded_matrix_of(k, from, x, rows, cols, pad),
                     .factor = factor[i],
                     .diagonal = diagonal[i],
                     .accumulate = i == 2};
    op.y = i == 0 && from == to ? op.x : padded_matrix_of(k, to, y, rows, cols, pad);
    assert_ok(op_add(k, &op));
    double rounding = to == BF16 ? 1.0 / 256 : 0, *actual = values_of(k, op.y);
    for (int64_t j = 0; j < count; j++)
      assert_close(actual[j], expected[j], 1e-6 + rounding * fabs(expected[j]));
  }
}

static void sums(struct kernels *k) {
  static const int64_t cols[] = {1, 3, 8, 41, 64, 300};
  const enum dtype type[] = {k->dtype, k->real};
  for (int i = 0; i < (int)(sizeof cols / sizeof cols[0]); i++) {
    for (int t = 0; t < (k->dtype == k->real ? 1 : 4); t++) {
      check_add(k, type[t / 2], type[t % 2], 67, cols[i], 0);
      check_add(k, type[t / 2], type[t % 2], 131, cols[i], OWN_GAPS);
      check_add(k, type[t / 2], type[t % 2], 5, cols[i], WIDE_GAPS);
    }
  }
  check_add(k, k->dtype, k->real, 0, 5, 0);
}

/* More at once than a launch takes. */
static void many(struct kernels *k) {
  enum { MANY = 37, ROWS = 9, COLS = 11 };
  struct add each[MANY];
  double *expected[MANY];
  for (int i = 0; i < MANY; i++) {
    double *x = rounded(k, noise_block((uint64_t)i, ROWS * COLS), ROWS * COLS);
    expected[i] = host_block(ROWS * COLS * 8);
    each[i] = (struct add){
        .x = matrix(k, x, ROWS, COLS), .factor = .5 * i, .diagonal = i, .accumulate = i % 2};
    each[i].y = real_matrix(k, x, ROWS, COLS);
    for (int64_t j = 0; j < ROWS * COLS; j++)
      expected[i][j] = (i % 2 ? x[j] : 0) + .5 * i * x[j] + (j / COLS == j % COLS ? i : 0);
  }
  assert_ok(op_add_all(k, each, MANY));
  for (int i = 0; i < MANY; i++) {
    double *actual = values_of(k, each[i].y);
    for (int64_t j = 0; j < ROWS * COLS; j++) assert_close(actual[j], expected[i][j], 1e-5);
  }
  free_blocks(k->device);
}

TEST(many_sums_are_made_at_once) {
  on_every_table(many);
}

TEST(multiples_are_added_to_what_is_there_and_to_the_diagonal) {
  on_every_table(sums);
}
