#include "kernels/ops/elementwise.h"
#include "tests/kernels/every_table.h"

static void gather(struct kernels *k) {
  static const int64_t widths[] = {1, 7, 47, 64, 100, 300};
  static const int32_t rows[] = {4, 0, 4, 19, 7};
  const int32_t *on_device = device_block(k, rows, sizeof rows);
  static const int64_t pads[][2] = {{1, 2}, {OWN_GAPS, OWN_GAPS}, {OWN_GAPS, WIDE_GAPS}};
  for (int i = 0; i < 18; i++) {
    int64_t width = widths[i / 3];
    const int64_t *pad = pads[i % 3];
    double *x = rounded(k, noise_block(1, 20 * width), 20 * width);
    struct tensor y = padded_matrix(k, NULL, 5, width, pad[1]);
    struct gather op = {.x = padded_matrix(k, x, 20, width, pad[0]), .rows = on_device, .y = y};
    assert_ok(op_gather(k, &op));
    double *actual = values_of(k, y);
    for (int64_t r = 0; r < 5; r++)
      assert_memory_equal(actual + r * width, x + rows[r] * width, (size_t)width * 8);
  }
  assert_ok(op_gather(k, &(struct gather){.x = matrix(k, NULL, 3, 4), .y = matrix(k, NULL, 0, 4)}));
}

static void gather_scaled(struct kernels *k) {
  static const int32_t rows[] = {2, 5, 2, 0};
  const int32_t *on_device = device_block(k, rows, sizeof rows);
  double *x = integer_block(2, 6 * 24), *scale = integer_block(3, 6), *expected = host_block(4 * 24 * 8);
  for (int64_t i = 0; i < 4 * 24; i++) expected[i] = scale[rows[i / 24]] * x[rows[i / 24] * 24 + i % 24];
  struct gather op = {.x = matrix(k, x, 6, 24), .rows = on_device, .y = matrix(k, NULL, 4, 24)};
  op.scale = reals(k, scale, 6);
  assert_ok(op_gather(k, &op));
  assert_all_equal(values_of(k, op.y), expected, 4 * 24);
}

/* All rows, in their order, of some of the columns: a slice, whose rows come back to where they were. */
static void slices(struct kernels *k) {
  static const int64_t slice[][2] = {{0, 40}, {8, 16}, {40, 24}, {56, 9}, {3, 7}};
  double *x = integer_block(4, 30 * 65), *scale = integer_block(5, 30), *expected = host_block(30 * 65 * 8);
  struct tensor whole = padded_matrix(k, x, 30, 65, whole_rows(65));
  struct tensor back = padded_matrix(k, NULL, 30, 65, whole_rows(65));
  memcpy(expected, values_of(k, back), 30 * 65 * 8);
  for (int i = 0; i < 5; i++) {
    const int64_t first = slice[i][0], cols = slice[i][1];
    struct gather op = {.x = tensor_columns(whole, first, cols),
                        .scale = reals(k, scale, 30),
                        .y = tensor_packed(padded_matrix(k, NULL, 30, cols, 40), cols)};
    assert_ok(op_gather(k, &op));
    assert_ok(op_add(k, &(struct add){.x = op.y, .factor = 1, .y = tensor_columns(back, first, cols)}));
    for (int64_t v = 0; v < 30; v++)
      for (int64_t j = first; j < first + cols; j++) expected[v * 65 + j] = scale[v] * x[v * 65 + j];
  }
  assert_all_equal(values_of(k, back), expected, 30 * 65);
}

TEST(slices_of_columns_come_back_to_their_places) {
  on_every_table(slices);
}

TEST(gathered_rows_are_copies_in_order) {
  on_every_table(gather);
}

TEST(gathered_rows_are_scaled) {
  on_every_table(gather_scaled);
}
