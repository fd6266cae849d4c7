#include "tests/kernels/every_table.h"

enum { NODES = 40, LIMIT = NODES * 64 };

/* Logits with labels; every third node is in no list. */
struct host_loss {
  int64_t classes, count;
  double *x;
  int32_t label[NODES], rows[NODES];
  uint8_t labels[LIMIT];
  double scale;
};

static struct host_loss make(int64_t classes) {
  struct host_loss h = {.classes = classes, .x = noise_block(1, NODES * classes), .scale = 1.0 / 50};
  for (int64_t i = 0; i < NODES * classes; i++) {
    h.x[i] *= 8;
    h.labels[i] = noise(2, i) > .3;
  }
  for (int v = 0; v < NODES; v++) {
    h.label[v] = v % 3 == 0 ? -1 : (int32_t)(v * 5 % classes);
    if (v % 3) h.rows[h.count++] = v;
  }
  return h;
}

typedef double host_function(const struct host_loss *h);

static double host_cross_entropy(const struct host_loss *h) {
  double sum = 0;
  for (int64_t i = 0; i < h->count; i++) {
    const double *x = h->x + h->rows[i] * h->classes;
    double total = 0;
    for (int64_t j = 0; j < h->classes; j++) total += exp(x[j] - x[h->label[h->rows[i]]]);
    sum += log(total);
  }
  return sum * h->scale;
}

static double host_bce(const struct host_loss *h) {
  double sum = 0;
  for (int64_t i = 0; i < h->count; i++) {
    for (int64_t j = 0; j < h->classes; j++) {
      int64_t at = h->rows[i] * h->classes + j;
      double s = 1 / (1 + exp(-h->x[at]));
      sum -= h->labels[at] ? log(s) : log(1 - s);
    }
  }
  return sum * h->scale / (double)h->classes;
}

static struct loss_op on_device(struct kernels *k, const struct host_loss *h) {
  struct loss_op op = {.logits = padded_matrix(k, h->x, NODES, h->classes, 2), .count = h->count};
  op.label = device_block(k, h->label, sizeof h->label);
  op.labels = device_block(k, h->labels, NODES * h->classes);
  op.rows = device_block(k, h->rows, sizeof h->rows);
  op.scale = h->scale;
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

/* Loss without gradient, gradient apart, gradient in place of the logits. */
static void check(struct kernels *k, int64_t classes, device_function *run, host_function *reference) {
  struct host_loss h = make(classes);
  double tolerance = k->dtype == F64 ? 1e-12 : 1e-6, *expected = host_block(NODES * classes * 8);
  for (int64_t i = 0; i < NODES * classes; i++) {
    double old = h.x[i], above;
    h.x[i] = old + 1e-5;
    above = reference(&h);
    h.x[i] = old - 1e-5;
    expected[i] = (above - reference(&h)) / 2e-5;
    h.x[i] = old;
  }
  struct loss_op op = on_device(k, &h);
  assert_ok(run(k, &op));
  assert_close(loss_of(k, &op), reference(&h), tolerance * 10);
  op.grad = padded_matrix(k, NULL, NODES, classes, 1);
  assert_ok(run(k, &op));
  assert_all_close(values_of(k, op.grad), expected, NODES * classes, 1e-8 + tolerance);
  op.grad = op.logits;
  assert_ok(run(k, &op));
  assert_close(loss_of(k, &op), reference(&h), tolerance * 10);
  assert_all_close(values_of(k, op.grad), expected, NODES * classes, 1e-8 + tolerance);
}

static void cross_entropy(struct kernels *k) {
  static const int64_t classes[] = {2, 3, 7, 8, 17, 41, 64};
  for (int i = 0; i < 7; i++) check(k, classes[i], op_cross_entropy, host_cross_entropy);
}

static void cross_entropy_and_its_gradient_match_central_differences(void **state) {
  (void)state;
  on_every_table(cross_entropy);
}

static void bce(struct kernels *k) {
  static const int64_t classes[] = {1, 5, 8, 41};
  for (int i = 0; i < 4; i++) check(k, classes[i], op_bce, host_bce);
}

static void bce_and_its_gradient_match_central_differences(void **state) {
  (void)state;
  on_every_table(bce);
}

/* Logits whose exponentials overflow. */
static void large_logits(struct kernels *k) {
  double x[] = {1000, 0, -1000, 500};
  int32_t label[] = {0, 0}, rows[] = {0, 1};
  uint8_t labels[] = {1, 0, 0, 1};
  struct loss_op op = {
      .logits = matrix(k, x, 2, 2), .count = 2, .scale = 1, .loss = device_block(k, NULL, 8)};
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

static void large_logits_do_not_overflow(void **state) {
  (void)state;
  on_every_table(large_logits);
}

static void no_rows(struct kernels *k) {
  struct host_loss h = make(5);
  h.count = 0;
  struct loss_op op = on_device(k, &h);
  op.grad = op.logits;
  assert_ok(op_cross_entropy(k, &op));
  assert_true(loss_of(k, &op) == 0);
  assert_all_equal(values_of(k, op.grad), host_block(NODES * 5 * 8), NODES * 5);
}

static void without_rows_loss_and_gradient_are_zero(void **state) {
  (void)state;
  on_every_table(no_rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cross_entropy_and_its_gradient_match_central_differences),
      cmocka_unit_test(bce_and_its_gradient_match_central_differences),
      cmocka_unit_test(large_logits_do_not_overflow),
      cmocka_unit_test(without_rows_loss_and_gradient_are_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
