#include "kernels/ops/elementwise.h"
#include "tests/kernels/every_table.h"

static void check_dot(struct kernels *k, int64_t rows, int64_t cols, int64_t pad) {
  double *a = rounded(k, noise_block(1, rows * cols), rows * cols), sum = 0, size = 0;
  double *b = rounded(k, noise_block(2, rows * cols), rows * cols);
  for (int64_t i = 0; i < rows * cols; i++) {
    sum += a[i] * b[i];
    size += fabs(a[i] * b[i]);
  }
  double *out[2];
  for (int i = 0; i < 2; i++) {
    struct dot op = {.a = padded_matrix(k, a, rows, cols, pad), .b = padded_matrix(k, b, rows, cols, pad)};
    op.out = reals(k, &(double){77}, 1);
    assert_ok(op_dot(k, &op));
    out[i] = doubles(k, op.out, 1);
  }
  assert_close(*out[0], sum, real_tolerance(k) * fmax(size, 1));
  assert_true(*out[0] == *out[1]);
}

static void dots(struct kernels *k) {
  static const int64_t cols[] = {1, 3, 8, 41, 64, 256, 300};
  for (int i = 0; i < (int)(sizeof cols / sizeof cols[0]); i++) {
    check_dot(k, 5000, cols[i], 0);
    check_dot(k, 61, cols[i], whole_rows(cols[i]));
    check_dot(k, 1, cols[i], 3);
  }
  check_dot(k, 0, 5, 0);
}

TEST(dots_are_sums_of_products_and_repeat_bit_by_bit) {
  on_every_table(dots);
}
