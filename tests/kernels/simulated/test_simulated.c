/* What sums over arcs take on a simulated GPU where another part of the matrix goes on with them: rows write
 * sums of floats in place of results, which the other part reads. */
#include "kernels/cost/cost_rates.h"
#include "kernels/format/layout.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/kernels.h"
#include "kernels/ops/sparse.h"
#include "runtime/device/device.h"
#include "runtime/device/device_list.h"
#include "tests/kernels/synthetic_matrix.h"

enum { ROWS = 1000, WIDTH = 64, ALL, OWN, REST }; /* the whole matrix, the part before, the part behind */

static struct device device;
static struct kernels kernels;
static struct csr matrix;
static struct layout *layout;
static uint8_t memory; /* nothing is stored there */

static int has_arc(int64_t i, int64_t j) {
  return (i + j) % 100 == 0;
}

BEFORE_EACH {
  assert_ok(device_simulate(&device, cost_model_h200.name, 80LL << 30, 1));
  assert_ok(kernels_open(&kernels, &device, PRECISION_BF16));
  matrix = synthetic_matrix(ROWS, ROWS, has_arc);
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .width = WIDTH};
  assert_ok(layout_init(&kernels, &matrix, &plan, &layout));
}

AFTER_EACH {
  layout_free(&kernels, layout);
  csr_free(&matrix);
  kernels_close(&kernels);
  device_close(&device);
}

static struct tensor rows_of(enum dtype dtype, int64_t cols) {
  return tensor_padded(&memory, dtype, ROWS, cols);
}

/* What stands in a row of sums, where there is another part. */
static struct tensor sums_of(int part, int64_t cols) {
  return part == ALL ? (struct tensor){0} : rows_of(F32, cols);
}

static int run_spmm(int part) {
  const struct spmm op = {.a = layout,
                          .x = rows_of(BF16, WIDTH),
                          .has_halo = part == OWN ? &memory : NULL,
                          .accumulate = part == REST,
                          .sums = sums_of(part, WIDTH),
                          .y = rows_of(BF16, WIDTH)};
  return kernels.ops->sparse->spmm(&kernels, &op);
}

static int run_attention(int part) {
  const struct attention op = {.a = layout,
                               .heads = 1,
                               .x = rows_of(BF16, WIDTH),
                               .has_halo = part == OWN ? &memory : NULL,
                               .accumulate = part == REST,
                               .positive = rows_of(BF16, WIDTH),
                               .sums = sums_of(part, 2 * WIDTH),
                               .y = rows_of(BF16, WIDTH)};
  return kernels.ops->attention->attention(&kernels, &op);
}

static int run_backward(int part) {
  const struct attention_backward op = {.a = layout,
                                        .heads = 1,
                                        .message = rows_of(BF16, WIDTH),
                                        .x = rows_of(BF16, WIDTH),
                                        .has_halo = part == OWN ? &memory : NULL,
                                        .accumulate = part == REST,
                                        .sums = sums_of(part, WIDTH),
                                        .dx = rows_of(BF16, WIDTH)};
  return kernels.ops->attention->attention_backward(&kernels, &op);
}

static double seconds_of(int (*run)(int part), int part) {
  double ms;
  assert_ok(device_mark(&device, 0, STREAM_COMPUTE));
  assert_ok(run(part));
  assert_ok(device_mark(&device, 1, STREAM_COMPUTE));
  assert_ok(device_elapsed(&device, 0, 1, &ms));
  return ms / 1e3;
}

TEST(parts_of_rows_hand_sums_over) {
  static int (*const run[])(int part) = {run_spmm, run_attention, run_backward};
  static const int64_t numbers[] = {WIDTH, 2 * WIDTH, WIDTH}; /* of a row: y; y and positive; dx */
  for (int i = 0; i < 3; i++) {
    const double row = (double)numbers[i] * cost_model_h200.pass.byte * 1e-12;
    const double all = seconds_of(run[i], ALL);
    assert_close(seconds_of(run[i], OWN) - all, ROWS * row * (4 - 2), 1e-12);
    assert_close(seconds_of(run[i], REST) - all, ROWS * row * 4, 1e-12);
  }
}
