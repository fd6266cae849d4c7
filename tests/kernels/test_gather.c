#include "tests/kernels/every_table.h"

static void gather(struct kernels *k) {
  static const int64_t widths[] = {1, 7, 64, 100};
  static const int32_t rows[] = {4, 0, 4, 19, 7};
  const int32_t *on_device = device_block(k, rows, sizeof rows);
  for (int i = 0; i < 4; i++) {
    int64_t width = widths[i];
    double *x = noise_block(1, 20 * width);
    struct tensor y = padded_matrix(k, NULL, 5, width, 2);
    assert_ok(op_gather(k, padded_matrix(k, x, 20, width, 1), on_device, y));
    double *actual = values_of(k, y);
    for (int64_t r = 0; r < 5; r++)
      assert_memory_equal(actual + r * width, x + rows[r] * width, (size_t)width * 8);
  }
  assert_ok(op_gather(k, matrix(k, NULL, 3, 4), NULL, matrix(k, NULL, 0, 4)));
}

static void gathered_rows_are_copies_in_order(void **state) {
  (void)state;
  on_every_table(gather);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gathered_rows_are_copies_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
