#include "kernels/ops/loss.h"
#include "tests/kernels/every_table.h"

static void expect(struct kernels *k, const int64_t *out, int64_t correct, int64_t predicted,
                   int64_t actual) {
  int64_t counts[3];
  assert_ok(device_download(k->device, STREAM_COMPUTE, counts, out, sizeof counts));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  assert_int_equal(counts[0], correct);
  assert_int_equal(counts[1], predicted);
  assert_int_equal(counts[2], actual);
}

static void accuracy(struct kernels *k) {
  double x[] = {0, 3, 1, /* 1 */ 5, 5, 2, /* tie: 0 */ -3, -2, -1, /* 2 */ 9, 1, 0 /* not listed */};
  int32_t label[] = {1, 0, 1, 0}, rows[] = {0, 1, 2};
  struct score op = {
      .logits = padded_matrix_of(k, k->real, x, 4, 3, 2), .count = 3, .out = device_block(k, NULL, 24)};
  op.label = device_block(k, label, sizeof label);
  op.rows = device_block(k, rows, sizeof rows);
  assert_ok(op_accuracy(k, &op));
  expect(k, op.out, 2, 3, 3);
  op.count = 0;
  assert_ok(op_accuracy(k, &op));
  expect(k, op.out, 0, 0, 0);
}

TEST(ties_go_to_the_lowest_class) {
  on_every_table(accuracy);
}

static void micro_f1(struct kernels *k) {
  double x[] = {1, -1, 0, /* */ 2, 2, 2, /* */ -1, 5, -1};
  uint8_t labels[] = {1, 1, 0, 1, 0, 1, 1, 1, 1};
  int32_t rows[] = {0, 2};
  struct score op = {
      .logits = padded_matrix_of(k, k->real, x, 3, 3, 1), .count = 2, .out = device_block(k, NULL, 24)};
  op.labels = device_block(k, labels, sizeof labels);
  op.rows = device_block(k, rows, sizeof rows);
  assert_ok(op_micro_f1(k, &op));
  expect(k, op.out, 2, 2, 5);
}

TEST(positives_are_logits_above_zero) {
  on_every_table(micro_f1);
}
