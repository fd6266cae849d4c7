#include "kernels/ops/loss.h"
#include "tests/kernels/every_table.h"

/* Logits with labels; `rows` lists the nodes that count. */
struct host_loss {
  int64_t nodes, classes, count;
  double *x, scale;
  int32_t *label, *rows; /* label -1 where a node does not count */
  uint8_t *labels;
};

/* Of `each` nodes in a row the first does not count; 0: all count. */
static struct host_loss make(int64_t nodes, int64_t classes, int64_t each) {
  struct host_loss h = {.nodes = nodes, .classes = classes, .scale = 1.0 / 50};
  h.x = noise_block(1, nodes * classes);
  h.label = host_block(nodes * 4);
  h.rows = host_block(nodes * 4);
  h.labels = host_block(nodes * classes);
  for (int64_t i = 0; i < nodes * classes; i++) {
    h.x[i] *= 8;
    h.labels[i] = noise(2, i) > .3;
  }
  for (int64_t v = 0; v < nodes; v++) {
    int listed = each == 0 || v % each > 0;
    h.label[v] = listed ? (int32_t)(v * 5 % classes) : -1;
    if (listed) h.rows[h.count++] = (int32_t)v;
  }
  return h;
}

/* The loss of node v. */
typedef double host_function(const struct host_loss *h, int64_t v);

static double host_cross_entropy(const struct host_loss *h, int64_t v) {
  const double *x = h->x + v * h->classes;
  double total = 0;
  for (int64_t j = 0; j < h->classes; j++) total += exp(x[j] - x[h->label[v]]);
  return log(total);
}

static double host_bce(const struct host_loss *h, int64_t v) {
  double sum = 0;
  for (int64_t i = v * h->classes; i < (v + 1) * h->classes; i++) {
    double s = 1 / (1 + exp(-h->x[i]));
    sum -= h->labels[i] ? log(s) : log(1 - s);
  }
  return sum / (double)h->classes;
}

static double total_of(const struct host_loss *h, host_function *loss) {
  double sum = 0;
  for (int64_t i = 0; i < h->count; i++) sum += loss(h, h->rows[i]);
  return sum * h->scale;
}

/* By central differences. */
static double *gradient_of(const struct host_loss *h, host_function *loss) {
  double *gradient = host_block(h->nodes * h->classes * 8);
  for (int64_t i = 0; i < h->count; i++) {
    int64_t v = h->rows[i];
    for (int64_t at = v * h->classes; at < (v + 1) * h->classes; at++) {
      double old = h->x[at], above;
      h->x[at] = old + 1e-5;
      above = loss(h, v);
      h->x[at] = old - 1e-5;
      gradient[at] = (above - loss(h, v)) / 2e-5 * h->scale;
      h->x[at] = old;
    }
  }
  return gradient;
}

static struct loss_op on_device(struct kernels *k, const struct host_loss *h, int64_t pad) {
  struct loss_op op = {.count = h->count, .scale = h->scale};
  op.logits = padded_matrix_of(k, k->real, h->x, h->nodes, h->classes, pad);
  op.label = device_block(k, h->label, h->nodes * 4);
  op.labels = device_block(k, h->labels, h->nodes * h->classes);
  op.rows = device_block(k, h->rows, h->nodes * 4);
  op.loss = device_block(k, NULL, 8);
  return op;
}

static double loss_of(struct kernels *k, const struct loss_op *op) {
  double loss;
  assert_ok(device_download(k->device, STREAM_COMPUTE, &loss, op->loss, 8));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  return loss;
}

typedef int device_function(struct kernels *k, const struct loss_op *op);

/* Loss without gradient, gradient apart, gradient in place of the logits where it is of their type. */
static void check(struct kernels *k, const struct host_loss *h, int64_t pad, device_function *run,
                  host_function *loss) {
  int64_t size = h->nodes * h->classes;
  double tolerance = k->real == F64 ? 1e-12 : 1e-6, *expected = gradient_of(h, loss);
  double expected_loss = total_of(h, loss), allowed = tolerance * fmax(10, expected_loss);
  struct loss_op op = on_device(k, h, pad);
  assert_ok(run(k, &op));
  assert_close(loss_of(k, &op), expected_loss, allowed);
  op.grad = padded_matrix(k, NULL, h->nodes, h->classes, pad);
  assert_ok(run(k, &op));
  assert_all_rounded(k, values_of(k, op.grad), expected, size, 1e-8 + tolerance);
  double *factor = row_factors(h->nodes), *scaled = host_block(size * 8);
  for (int64_t i = 0; i < size; i++) scaled[i] = expected[i] * factor[i / h->classes];
  op.grad_scale = reals(k, factor, h->nodes);
  assert_ok(run(k, &op));
  assert_close(loss_of(k, &op), expected_loss, allowed);
  assert_all_rounded(k, values_of(k, op.grad), scaled, size, 1e-8 + 2 * tolerance);
  op.grad_scale = NULL;
  if (k->dtype == k->real) {
    op.grad = op.logits;
    assert_ok(run(k, &op));
    assert_close(loss_of(k, &op), expected_loss, allowed);
    assert_all_close(values_of(k, op.grad), expected, size, 1e-8 + tolerance);
  }
  free_blocks(k->device);
}

/* Rows at any place, and at multiples of 32 bytes; some listed, and all; fewer than a block, and many. */
static void check_shapes(struct kernels *k, int64_t classes, device_function *run, host_function *loss) {
  static const int64_t list[][2] = {{40, 3}, {40, 0}, {2500, 0}, {2500, 2}};
  static const int64_t pads[] = {3, OWN_GAPS, WIDE_GAPS};
  for (int i = 0; i < (classes == 7 ? 12 : 6); i++) {
    if (classes > 256 && i % 3 == 0) continue; /* the reference is slow */
    struct host_loss h = make(list[i / 3][0], classes, list[i / 3][1]);
    check(k, &h, pads[i % 3], run, loss);
  }
}

static void cross_entropy(struct kernels *k) {
  static const int64_t classes[] = {2, 3, 7, 8, 17, 41, 64, 300};
  for (int i = 0; i < 8; i++) check_shapes(k, classes[i], op_cross_entropy, host_cross_entropy);
}

TEST(cross_entropy_and_its_gradient_match_central_differences) {
  on_every_table(cross_entropy);
}

static void bce(struct kernels *k) {
  static const int64_t classes[] = {1, 5, 7, 8, 41, 300};
  for (int i = 0; i < 6; i++) check_shapes(k, classes[i], op_bce, host_bce);
}

TEST(bce_and_its_gradient_match_central_differences) {
  on_every_table(bce);
}

/* Logits whose exponentials overflow. */
static void large_logits(struct kernels *k) {
  double x[] = {1000, 0, -1000, 500};
  int32_t label[] = {0, 0}, rows[] = {0, 1};
  uint8_t labels[] = {1, 0, 0, 1};
  struct loss_op op = {
      .logits = real_matrix(k, x, 2, 2), .count = 2, .scale = 1, .loss = device_block(k, NULL, 8)};
  op.label = device_block(k, label, sizeof label);
  op.labels = device_block(k, labels, sizeof labels);
  op.rows = device_block(k, rows, sizeof rows);
  op.grad = matrix(k, NULL, 2, 2);
  assert_ok(op_cross_entropy(k, &op));
  assert_close(loss_of(k, &op), 1500, 1e-9);
  double gradient[] = {0, 0, -1, 1}, *actual = values_of(k, op.grad);
  for (int i = 0; i < 4; i++) assert_close(actual[i], gradient[i], 1e-12);
  assert_ok(op_bce(k, &op));
  assert_close(loss_of(k, &op), log(2) / 2, 1e-9);
}

TEST(large_logits_do_not_overflow) {
  on_every_table(large_logits);
}

static void no_rows(struct kernels *k) {
  struct host_loss h = make(40, 5, 0);
  h.count = 0;
  struct loss_op op = on_device(k, &h, 2);
  op.grad = padded_matrix(k, NULL, 40, 5, 3);
  assert_ok(op_cross_entropy(k, &op));
  assert_true(loss_of(k, &op) == 0);
  assert_all_equal(values_of(k, op.grad), host_block(40 * 5 * 8), 40 * 5);
}

TEST(without_rows_loss_and_gradient_are_zero) {
  on_every_table(no_rows);
}
