#include "kernels/ops/optimizer.h"
#include "tests/kernels/every_table.h"

enum { COUNT = 1003, DECAYED = 500, STEPS = 5 };

/* One step of each optimiser as its paper writes it. */
static void host_step(const struct optimizer_op *op, double lr, int t, double factor, double *w,
                      const double *dw, double *m, double *v) {
  for (int64_t i = 0; i < op->count; i++) {
    double decay = i < op->decay_end ? op->weight_decay : 0, g = dw[i] * factor;
    if (i >= op->group_begin && i < op->group_end) decay = op->group_decay;
    if (op->optimizer == OPTIMIZER_ADAMW)
      w[i] -= lr * decay * w[i];
    else
      g += decay * w[i];
    if (op->optimizer == OPTIMIZER_SGD) {
      m[i] = op->momentum * m[i] + g;
      w[i] -= lr * m[i];
      continue;
    }
    m[i] = .9 * m[i] + .1 * g;
    v[i] = .999 * v[i] + .001 * g * g;
    w[i] -= lr * (m[i] / (1 - pow(.9, t))) / (sqrt(v[i] / (1 - pow(.999, t))) + 1e-8);
  }
}

/* group: elements that decay otherwise. */
static void check(struct kernels *k, enum optimizer optimizer, double clip, int64_t group_begin,
                  int64_t group_end) {
  double *w = noise_block(1, COUNT), *m = host_block(COUNT * 8), *v = host_block(COUNT * 8);
  struct optimizer_op op = {.optimizer = optimizer, .count = COUNT, .decay_end = DECAYED};
  op.w = reals(k, w, COUNT);
  op.m = reals(k, m, COUNT);
  if (optimizer != OPTIMIZER_SGD) op.v = reals(k, v, COUNT);
  op.momentum = .9;
  op.weight_decay = .05;
  op.clip = clip;
  op.group_begin = group_begin;
  op.group_end = group_end;
  op.group_decay = .2;
  if (k->dtype != k->real) op.copy = elements(k, k->dtype, w, COUNT);
  for (int t = 1; t <= STEPS; t++) {
    double *dw = noise_block((uint64_t)(10 + t), COUNT), squares = 0, lr = .01 * t;
    for (int i = 0; i < COUNT; i++) squares += dw[i] * dw[i];
    op.dw = reals(k, dw, COUNT);
    set_scalars(k, (struct scalars){.step = t, .lr = lr});
    assert_ok(op_sum_squares(k, op.dw, COUNT));
    assert_ok(op_optimizer(k, &op));
    host_step(&op, lr, t, clip > 0 ? fmin(1, clip / sqrt(squares)) : 1, w, dw, m, v);
  }
  double *stepped = doubles(k, op.w, COUNT);
  assert_all_close(stepped, w, COUNT, real_tolerance(k));
  if (op.copy) assert_all_equal(elements_of(k, k->dtype, op.copy, COUNT), rounded(k, stepped, COUNT), COUNT);
}

static void steps(struct kernels *k) {
  for (enum optimizer o = OPTIMIZER_ADAM; o <= OPTIMIZER_SGD; o++) {
    check(k, o, 0, 0, 0);
    check(k, o, 3, 100, 417);
    check(k, o, 0, 300, 800);
    check(k, o, 1000, 600, COUNT);
  }
}

TEST(five_steps_follow_the_papers_with_and_without_clipping) {
  on_every_table(steps);
}

/* A gradient that is not finite freezes: no step changes anything, until the scalars are set anew. */
static void frozen(struct kernels *k) {
  double *w = noise_block(1, COUNT), *dw = noise_block(2, COUNT), *m = noise_block(3, COUNT);
  double bad[] = {INFINITY, -INFINITY, NAN};
  struct scalars scalars;
  for (int i = 0; i < 3; i++) {
    struct optimizer_op op = {.optimizer = i == 1 ? OPTIMIZER_SGD : OPTIMIZER_ADAM,
                              .w = reals(k, w, COUNT),
                              .m = reals(k, m, COUNT),
                              .v = reals(k, m, COUNT),
                              .count = COUNT,
                              .decay_end = COUNT / 2,
                              .momentum = .9,
                              .clip = i == 2};
    if (k->dtype != k->real) op.copy = elements(k, k->dtype, m, COUNT);
    dw[COUNT / 3] = bad[i];
    op.dw = reals(k, dw, COUNT);
    set_scalars(k, (struct scalars){.step = 1, .lr = .1});
    assert_ok(op_sum_squares(k, op.dw, COUNT));
    assert_ok(op_optimizer(k, &op));
    dw[COUNT / 3] = 0;
    assert_ok(op_sum_squares(k, reals(k, dw, COUNT), COUNT));
    assert_ok(op_optimizer(k, &op));
    assert_all_equal(doubles(k, op.w, COUNT), w, COUNT);
    assert_all_equal(doubles(k, op.m, COUNT), m, COUNT);
    assert_all_equal(doubles(k, op.v, COUNT), m, COUNT);
    if (op.copy) {
      double *kept = noise_block(3, COUNT);
      assert_all_equal(elements_of(k, k->dtype, op.copy, COUNT), rounded(k, kept, COUNT), COUNT);
    }
    assert_ok(device_download(k->device, STREAM_COMPUTE, &scalars, k->scalars, sizeof scalars));
    assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
    assert_true(scalars.frozen && isfinite(scalars.squares));
  }
}

TEST(a_gradient_that_is_not_finite_changes_no_weight) {
  on_every_table(frozen);
}

static void squares(struct kernels *k) {
  double *x = integer_block(1, 12345), expected = 0;
  for (int i = 0; i < 12345; i++) expected += x[i] * x[i];
  assert_ok(op_sum_squares(k, reals(k, x, 12345), 12345));
  struct scalars scalars;
  assert_ok(device_download(k->device, STREAM_COMPUTE, &scalars, k->scalars, sizeof scalars));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  assert_true(scalars.squares == expected);
  assert_ok(op_sum_squares(k, NULL, 0));
  assert_ok(device_download(k->device, STREAM_COMPUTE, &scalars, k->scalars, sizeof scalars));
  assert_true(scalars.squares == 0);
}

TEST(squares_of_integers_add_up_exactly) {
  on_every_table(squares);
}
