#include "tests/kernels/products.h"

/* Y = epilogue(A B), and Y2 = scale_v (Y B2 + bias2)_v from it. */
struct chain {
  int64_t m, inner, n, n2;
  enum activation activation;
  double dropout;
  int bias, scaled; /* scaled: rows of Y2 have factors */
  int64_t pad;      /* behind rows; -1: as tensors have it */
  enum norm norm;   /* of Y */
};

static const struct chain chains[] = {{1, 64, 64, 40, ACTIVATION_RELU, 0, 0, 1, -1, NORM_NONE},
                                      {63, 128, 128, 128, ACTIVATION_RELU, 0, 0, 1, -1, NORM_NONE},
                                      {70, 100, 128, 47, ACTIVATION_RELU, 0, 1, 0, -1, NORM_NONE},
                                      {513, 128, 256, 40, ACTIVATION_RELU, .5, 1, 1, -1, NORM_NONE},
                                      {300, 17, 70, 41, ACTIVATION_RELU, .5, 0, 0, -1, NORM_NONE},
                                      {300, 66, 136, 7, ACTIVATION_NONE, 0, 1, 1, -1, NORM_NONE},
                                      {300, 40, 48, 48, ACTIVATION_RELU, 0, 1, 1, -1, NORM_NONE},
                                      {257, 128, 128, 64, ACTIVATION_NONE, 0, 0, 0, -1, NORM_NONE},
                                      {200, 128, 256, 256, ACTIVATION_RELU, 0, 0, 1, -1, NORM_NONE},
                                      {200, 300, 128, 40, ACTIVATION_RELU, 0, 0, 1, -1, NORM_NONE},
                                      {100, 20, 30, 40, ACTIVATION_ELU, 0, 1, 1, -1, NORM_NONE},
                                      {100, 20, 30, 40, ACTIVATION_RELU, 0, 1, 1, 3, NORM_NONE},
                                      {200, 200, 100, 100, ACTIVATION_RELU, 0, 1, 1, -1, NORM_NONE},
                                      {90, 256, 33, 3, ACTIVATION_RELU, .25, 0, 1, -1, NORM_NONE},
                                      {200, 100, 100, 40, ACTIVATION_RELU, 0, 1, 1, -1, NORM_LAYER}};
enum { CHAINS = sizeof chains / sizeof chains[0], FAR = 70001, PERIOD = 997 };

struct outputs {
  double *y, *y2;
};

/* along: by one op, else by two. a: [m, inner]. */
static struct outputs run(struct kernels *k, const struct chain *c, const double *a, int along) {
  struct gemm op = {.a = operand(k, a, c->m, c->inner, c->pad)};
  op.b = operand(k, noise_block(2, c->inner * c->n), c->inner, c->n, c->pad);
  op.c = result(k, k->dtype, NULL, c->m, c->n, c->pad);
  struct epilogue epilogue = {.z = op.c, .activation = c->activation, .y = op.c};
  epilogue.norm = c->norm;
  epilogue.epsilon = 1e-5;
  epilogue.mean = reals(k, host_block(c->m * 8), c->m);
  epilogue.rstd = reals(k, host_block(c->m * 8), c->m);
  if (c->bias) epilogue.bias = reals(k, noise_block(3, c->n), c->n);
  if (c->dropout > 0)
    epilogue.dropout = dropout_of(c->dropout, random_key(1, 2, 3, RANDOM_DROPOUT_HIDDEN),
                                  global_ids(k, c->m));
  struct gemm chained = {.a = op.c, .b = operand(k, noise_block(4, c->n * c->n2), c->n, c->n2, c->pad)};
  chained.c = result(k, k->dtype, NULL, c->m, c->n2, c->pad);
  struct epilogue end2 = {.z = chained.c, .y = chained.c};
  if (c->bias) end2.bias = reals(k, noise_block(5, c->n2), c->n2);
  if (c->scaled) end2.scale = reals(k, row_factors(c->m), c->m);
  if (c->bias || c->scaled) chained.epilogue = &end2;
  op.epilogue = &epilogue;
  op.chained = along ? &chained : NULL;
  assert_ok(op_gemm(k, &op));
  if (!along) assert_ok(op_gemm(k, &chained));
  return (struct outputs){values_of(k, op.c), values_of(k, chained.c)};
}

static double tolerance_of_sums(const struct kernels *k, const struct chain *c) {
  return (k->real == F64 ? 1e-13 : 1e-6) * sqrt((double)(c->n * c->inner));
}

/* Sums taken in another order may round to the next activation. */
static void assert_both_rounded(const struct kernels *k, const double *one, const double *two, int64_t count,
                                double tolerance) {
  const double rounding = k->dtype == BF16 ? 2.0 / 256 : 0;
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(one[i] - two[i]) <= tolerance + rounding * fabs(two[i])))
      fail_msg("element %ld: %.12g, apart %.12g", (long)i, one[i], two[i]);
  }
}

static void check(struct kernels *k, const struct chain *c) {
  const double *a = noise_block(1, c->m * c->inner);
  const struct outputs one = run(k, c, a, 1), two = run(k, c, a, 0);
  double tolerance = tolerance_of_sums(k, c);
  assert_all_equal(one.y, two.y, c->m * c->n);
  assert_both_rounded(k, one.y2, two.y2, c->m * c->n2, tolerance);
  free_blocks(k->device);
}

static void every_chain(struct kernels *k) {
  set_scalars(k, (struct scalars){.epoch = 5});
  for (int i = 0; i < CHAINS; i++) check(k, &chains[i]);
}

TEST(a_product_takes_the_next_one_along) {
  on_every_table(every_chain);
}

/* More rows than a GPU has in hand at a time, the same over and over: each as the first ones are. */
static void check_far(struct kernels *k, struct chain c) {
  double *period = noise_block(1, PERIOD * c.inner);
  c.m = k->device->ops->on_host ? 2 * PERIOD + 5 : FAR;
  const struct outputs found = run(k, &c, repeated(period, c.inner, c.m, PERIOD), 1);
  double tolerance = tolerance_of_sums(k, &c);
  assert_all_rounded(k, found.y, repeated(found.y, c.n, c.m, PERIOD), c.m * c.n, tolerance);
  assert_all_rounded(k, found.y2, repeated(found.y2, c.n2, c.m, PERIOD), c.m * c.n2, tolerance);
  free_blocks(k->device);
}

static void far_rows(struct kernels *k) {
  check_far(k, (struct chain){.inner = 128, .n = 128, .n2 = 128, .activation = ACTIVATION_RELU, .pad = -1});
  check_far(k, (struct chain){.inner = 128, .n = 256, .n2 = 40, .activation = ACTIVATION_RELU, .pad = -1});
  check_far(k, (struct chain){.inner = 100, .n = 70, .n2 = 64, .activation = ACTIVATION_NONE, .pad = -1});
}

TEST(rows_far_down_are_as_those_above) {
  on_every_table(far_rows);
}

/* What is not finite in a row stays there. */
static void infinite_row(struct kernels *k) {
  const struct chain c = {200, 100, 100, 40, ACTIVATION_RELU, 0, 1, 0, -1, NORM_NONE};
  enum { BAD = 77 };
  double *a = noise_block(1, c.m * c.inner);
  const struct outputs before = run(k, &c, a, 1);
  a[BAD * c.inner + 3] = INFINITY;
  const struct outputs after = run(k, &c, a, 1);
  for (int64_t i = 0; i < c.m * c.n2; i++) {
    if (i / c.n2 != BAD) assert_true(after.y2[i] == before.y2[i]);
  }
  int finite = 1;
  for (int64_t j = 0; j < c.n2; j++) finite &= isfinite(after.y2[BAD * c.n2 + j]) != 0;
  assert_false(finite);
  free_blocks(k->device);
}

TEST(what_is_not_finite_stays_in_its_row) {
  on_every_table(infinite_row);
}
