#include "kernels/ops/elementwise.h"
#include "tests/kernels/products.h"

/* More rows than a GPU has in hand at a time, the same over and over: those far down are as those above. */
enum { NEAR = 2001, FAR = 70001, FURTHER = 210001, PERIOD = 997, LEFT = 70 };

/* What is far on that device; on the processor all parts of the rows are alike. */
static int64_t far_rows_of(const struct kernels *k) {
  return k->device->ops->on_host ? NEAR : FAR;
}

/* What goes along with a backward pass: dW = L^T R, of rows of a period that are there so many times. */
static void check_fused(struct kernels *k, const struct gemm *along, const double *left,
                        const double *right) {
  int64_t far = along->a.rows;
  int64_t m = along->c.rows, n = along->c.cols;
  double *dw = host_block(m * n * 8);
  for (int64_t i = 0; i < PERIOD * m; i++)
    for (int64_t j = 0; j < n; j++)
      dw[i % m * n + j] += times(i / m, far, PERIOD) * left[i] * right[i / m * n + j];
  assert_all_close(values_of(k, along->c), dw, m * n, 10 * product_tolerance(k));
}

enum { FOLLOWED = 1, ACCOMPANIED = 2 };

/* Forward ReLU; backward its gradient, with sums of columns and, as `along` says, gradients of weights.
 * inner2: terms of a second product; 0: none. */
static void check_far_rows(struct kernels *k, int64_t far, int64_t n, int64_t inner, int64_t inner2,
                           int backward, int along) {
  double *rows = integer_block(1, PERIOD * inner), *z = host_block(PERIOD * n * 8), *sums = host_block(n * 8);
  double *saved = integer_block(3, PERIOD * n);
  struct product p = product_of(k, repeated(rows, inner, far, PERIOD), integer_block(2, inner * n), far, n,
                                inner, backward ? 2 : 0, -1);
  struct product period = {.m = PERIOD, .n = n, .inner = inner, .tb = p.tb, .a = rows, .b = p.b};
  double *rows2 = integer_block(5, PERIOD * inner2);
  if (inner2 > 0)
    add_second(k, &p, repeated(rows2, inner2, far, PERIOD), integer_block(6, inner2 * n), inner2, -1);
  period.inner2 = inner2;
  period.a2 = rows2;
  period.b2 = p.b2;
  compute(&period, z, 1);
  for (int64_t i = 0; i < PERIOD * n; i++) {
    z[i] = (backward ? saved[i] : z[i]) > 0 ? element(k->dtype, z[i]) : 0;
    sums[i % n] += times(i / n, far, PERIOD) * z[i];
  }
  double *left = integer_block(4, PERIOD * LEFT);
  struct tensor c = result(k, k->dtype, NULL, far, n, -1);
  struct epilogue epilogue = {.z = c, .activation = ACTIVATION_RELU, .y = c};
  struct epilogue_backward back = {.forward = &epilogue, .dy = c, .dz = c, .bias_grad = reals(k, saved, n)};
  struct gemm chained_wgrad = {
      .a = operand(k, repeated(left, LEFT, far, PERIOD), far, LEFT, -1), .transpose_a = 1, .b = c};
  chained_wgrad.c = result(k, k->real, NULL, LEFT, n, -1);
  if (along & FOLLOWED) back.chained_wgrad = &chained_wgrad;
  p.op.c = c;
  p.op.epilogue = backward ? NULL : &epilogue;
  p.op.backward = backward ? &back : NULL;
  if (backward) epilogue.z = epilogue.y = result(k, k->dtype, repeated(saved, n, far, PERIOD), far, n, -1);
  struct gemm fused_wgrad = {.a = epilogue.y, .transpose_a = 1, .b = p.op.a};
  fused_wgrad.c = result(k, k->real, NULL, n, inner, -1);
  struct gemm fused_wgrad2 = {.a = epilogue.y, .transpose_a = 1, .b = p.op.a2};
  fused_wgrad2.c = result(k, k->real, NULL, n, inner2, -1);
  if (along & ACCOMPANIED) p.op.fused_wgrad = &fused_wgrad;
  if (along & ACCOMPANIED && inner2 > 0) p.op.fused_wgrad2 = &fused_wgrad2;
  assert_ok(op_gemm(k, &p.op));
  if (!(along & FOLLOWED)) assert_all_equal(values_of(k, c), repeated(z, n, far, PERIOD), far * n);
  if (along & FOLLOWED) check_fused(k, &chained_wgrad, left, z);
  if (along & ACCOMPANIED) check_fused(k, &fused_wgrad, saved, rows);
  if (p.op.fused_wgrad2) check_fused(k, &fused_wgrad2, saved, rows2);
  if (backward) assert_all_close(doubles(k, back.bias_grad, n), sums, n, tolerance_of(k));
  free_blocks(k->device);
}

static void far_rows(struct kernels *k) {
  int64_t far = far_rows_of(k);
  check_far_rows(k, far, 47, 66, 0, 0, 0);
  check_far_rows(k, far, 64, 17, 0, 1, FOLLOWED);
  check_far_rows(k, far, 70, 17, 0, 1, FOLLOWED);
  check_far_rows(k, far, 70, 47, 0, 1, ACCOMPANIED);
  check_far_rows(k, far, 100, 66, 0, 1, FOLLOWED | ACCOMPANIED);
  check_far_rows(k, far, 128, 40, 0, 1, ACCOMPANIED);
  check_far_rows(k, far, 128, 128, 0, 1, FOLLOWED | ACCOMPANIED);
  check_far_rows(k, far, 136, 17, 0, 0, 0);
  check_far_rows(k, far, 136, 66, 0, 1, FOLLOWED);
  check_far_rows(k, far, 136, 17, 0, 1, ACCOMPANIED);
  check_far_rows(k, far, 136, 47, 0, 1, FOLLOWED | ACCOMPANIED);
  check_far_rows(k, far, 200, 47, 0, 1, FOLLOWED | ACCOMPANIED);
  check_far_rows(k, far, 250, 41, 0, 1, ACCOMPANIED);
  check_far_rows(k, far, 256, 40, 0, 1, FOLLOWED | ACCOMPANIED);
  check_far_rows(k, far, 256, 66, 0, 1, FOLLOWED);
  check_far_rows(k, far, 256, 17, 0, 1, ACCOMPANIED);
  check_far_rows(k, far, 256, 256, 0, 0, 0);
  check_far_rows(k, far, 256, 256, 0, 1, 0);
  if (!k->device->ops->on_host) check_far_rows(k, FURTHER, 70, 17, 0, 1, FOLLOWED | ACCOMPANIED);
}

static void pairs_far_rows(struct kernels *k) {
  int64_t far = far_rows_of(k);
  check_far_rows(k, far, 136, 20, 41, 0, 0);
  check_far_rows(k, far, 47, 66, 17, 0, 0);
  check_far_rows(k, far, 136, 41, 47, 1, ACCOMPANIED);
  check_far_rows(k, far, 256, 17, 20, 1, 0);
  check_far_rows(k, far, 128, 128, 128, 1, 0);
  check_far_rows(k, far, 70, 60, 41, 1, ACCOMPANIED);
  check_far_rows(k, far, 70, 66, 17, 1, FOLLOWED | ACCOMPANIED);
  check_far_rows(k, far, 136, 47, 41, 1, FOLLOWED | ACCOMPANIED);
}

TEST(rows_far_down_are_as_those_above) {
  on_every_table(far_rows);
}

TEST(so_they_are_of_two_products) {
  on_every_table(pairs_far_rows);
}

static double activated(enum activation activation, double n) {
  if (n >= 0 || activation == ACTIVATION_NONE) return n;
  return activation == ACTIVATION_RELU ? 0 : activation == ACTIVATION_ELU ? expm1(n) : .01 * n;
}

static double sloped(enum activation activation, double n, double d) {
  if (n > 0 || activation == ACTIVATION_NONE) return d;
  return activation == ACTIVATION_RELU ? 0 : activation == ACTIVATION_ELU ? d * exp(n) : .01 * d;
}

enum { EPOCH = 5 };

/* One epilogue of a layer on its product: what differs from case to case. */
struct epilogue_case {
  int64_t m, n, inner, pad;
  enum activation activation;
  double dropout;
  int bias, residual, apart; /* apart: y is not z */
  int scaled;                /* rows have factors */
};

static const struct epilogue_case epilogue_cases[] = {
    {500, 256, 41, -1, ACTIVATION_RELU, .5, 1, 0, 0, 0},
    {500, 256, 100, -1, ACTIVATION_RELU, 0, 1, 0, 0, 0},
    {200, 41, 64, -1, ACTIVATION_NONE, 0, 1, 0, 0, 0},
    {300, 64, 33, -1, ACTIVATION_ELU, .3, 1, 1, 1, 0},
    {300, 100, 50, 1, ACTIVATION_LEAKY_RELU, .2, 0, 1, 1, 0},
    {70, 17, 20, 3, ACTIVATION_RELU, .5, 1, 0, 1, 0},
    {300, 130, 400, -1, ACTIVATION_RELU, .4, 1, 0, 0, 0},
    {40, 300, 20, -1, ACTIVATION_ELU, .5, 0, 0, 0, 0},
    {5000, 12, 20, -1, ACTIVATION_RELU, .5, 1, 0, 0, 0},
    {700, 128, 602, -1, ACTIVATION_RELU, .1, 1, 0, 0, 0},
    {500, 47, 256, -1, ACTIVATION_NONE, 0, 0, 0, 0, 1},
    {500, 128, 128, -1, ACTIVATION_NONE, 0, 0, 0, 0, 1},
    {500, 256, 100, -1, ACTIVATION_RELU, .5, 1, 0, 0, 1},
    {300, 41, 64, 1, ACTIVATION_ELU, .3, 1, 1, 1, 1},
    {500, 128, 47, -1, ACTIVATION_RELU, 0, 0, 0, 0, 1},
    {500, 100, 47, -2, ACTIVATION_RELU, .5, 1, 0, 0, 0},
    {500, 37, 47, -2, ACTIVATION_RELU, .5, 1, 0, 0, 0},
    {9000, 40, 128, -1, ACTIVATION_RELU, .3, 1, 0, 0, 0},
    {1001, 100, 130, -1, ACTIVATION_RELU, 0, 1, 0, 0, 1},
    {1500, 200, 200, -1, ACTIVATION_RELU, .5, 1, 0, 0, 0},
};
enum { EPILOGUE_CASES = sizeof epilogue_cases / sizeof epilogue_cases[0] };

static struct dropout dropout_of_case(struct kernels *k, const struct epilogue_case *c) {
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  return dropout_of(c->dropout, random_key(1, 0, 2, RANDOM_DROPOUT_HIDDEN), global_ids(k, c->m));
}

/* Terms of a second product. */
static int64_t inner2_of_case(const struct epilogue_case *c) {
  static const int64_t inner2[] = {47, 100, 41, 128, 17};
  return inner2[(c - epilogue_cases) % 5];
}

static struct product product_of_case(struct kernels *k, const struct epilogue_case *c, int kind, int pair) {
  double *a = noise_block(1, c->m * c->inner), *b = noise_block(2, c->inner * c->n);
  struct product p = product_of(k, a, b, c->m, c->n, c->inner, kind, c->pad);
  int64_t inner2 = inner2_of_case(c);
  if (pair) add_second(k, &p, noise_block(7, c->m * inner2), noise_block(8, inner2 * c->n), inner2, c->pad);
  return p;
}

static void check_end(struct kernels *k, const struct epilogue_case *c, enum dtype dtype, int pair) {
  int64_t count = c->m * c->n;
  struct product p = product_of_case(k, c, 0, pair);
  double *bias = noise_block(3, c->n), *residual = noise_block(4, count), *z = host_block(count * 8);
  double *y = host_block(count * 8);
  for (int64_t i = 0; i < count; i++) residual[i] = element(dtype, residual[i]);
  struct epilogue epilogue = {.activation = c->activation, .dropout = dropout_of_case(k, c)};
  double *factor = row_factors(c->m);
  if (c->scaled) epilogue.scale = reals(k, factor, c->m);
  if (c->bias) epilogue.bias = reals(k, bias, c->n);
  if (c->residual) epilogue.residual = result(k, dtype, residual, c->m, c->n, c->pad);
  p.op.c = epilogue.z = epilogue.y = result(k, dtype, NULL, c->m, c->n, c->pad);
  if (c->apart) epilogue.y = result(k, dtype, NULL, c->m, c->n, c->pad);
  p.op.epilogue = &epilogue;
  compute(&p, z, 1);
  for (int64_t i = 0; i < count; i++) {
    double n = z[i] + (c->bias ? bias[i % c->n] : 0);
    y[i] = activated(c->activation, n) + (c->residual ? residual[i] : 0);
    y[i] = dropped(&epilogue.dropout, EPOCH, global_id(i / c->n), i % c->n, y[i]);
    if (c->scaled) y[i] *= factor[i / c->n];
  }
  assert_ok(op_gemm(k, &p.op));
  double tolerance = (1 + pair) * tolerance_in(k, dtype) + product_tolerance(k); /* pair: and in between */
  double of_y = tolerance + 2 * tolerance_in(k, dtype); /* z may be rounded before, and dropout scales that */
  assert_all_close(values_of(k, epilogue.y), y, count, of_y);
  if (c->apart) assert_all_close(values_of(k, epilogue.z), z, count, tolerance);
  free_blocks(k->device);
}

static void ends(struct kernels *k) {
  for (int i = 0; i < 2 * EPILOGUE_CASES; i++) {
    check_end(k, &epilogue_cases[i / 2], k->dtype, i % 2);
    if (k->dtype != k->real) check_end(k, &epilogue_cases[i / 2], k->real, i % 2);
  }
}

TEST(a_product_takes_the_end_of_its_layer) {
  on_every_table(ends);
}

/* The end of the layer below, [m, n], as its forward pass left it: of[0] = n, of[1] = y, and dy of a product.
 */
static void check_backward(struct kernels *k, const struct epilogue_case *c, int accumulate, int pair) {
  int64_t count = c->m * c->n;
  struct product p = product_of_case(k, c, 2, pair);
  double *z = rounded(k, noise_block(5, count), count), *bias = noise_block(3, c->n);
  double *dz = rounded(k, noise_block(6, count), count), *sums = host_block(c->n * 8),
         *kept = host_block(count * 8);
  double *dropped_dy = host_block(count * 8), *factor = row_factors(c->m);
  struct epilogue epilogue = {.activation = c->activation, .dropout = dropout_of_case(k, c)};
  if (c->bias) epilogue.bias = reals(k, bias, c->n);
  struct tensor old = result(k, k->dtype, dz, c->m, c->n, c->pad);
  if (!accumulate) memset(dz, 0, (size_t)count * 8);
  compute(&p, dz, 1);
  for (int64_t i = 0; i < count; i++) {
    int64_t id = global_id(i / c->n), j = i % c->n;
    double n = z[i] + (c->bias ? bias[j] : 0);
    kept[i] = element(k->dtype, dropped(&epilogue.dropout, EPOCH, id, j, activated(c->activation, n)));
    if (!c->apart && fabs(kept[i]) < 1e-2) kept[i] = n = 0; /* a sign that rounding may not change */
    dropped_dy[i] = dropped(&epilogue.dropout, EPOCH, id, j, dz[i]);
    dz[i] = sloped(c->activation, n, dropped_dy[i]);
    sums[j] += dz[i];
    if (c->scaled) dz[i] *= factor[i / c->n];
  }
  epilogue.z = epilogue.y = result(k, k->dtype, c->apart ? z : kept, c->m, c->n, c->pad);
  if (c->apart) epilogue.y = result(k, k->dtype, kept, c->m, c->n, c->pad);
  struct epilogue_backward back = {.forward = &epilogue, .dy = old, .dz = old};
  if (c->residual) back.residual_grad = back.dz = result(k, k->dtype, NULL, c->m, c->n, c->pad);
  if (c->residual) back.dz = result(k, k->dtype, NULL, c->m, c->n, c->pad);
  back.bias_grad = reals(k, bias, c->n);
  if (c->scaled) back.scale = reals(k, factor, c->m);
  p.op.c = old;
  p.op.accumulate = accumulate;
  p.op.backward = &back;
  assert_ok(op_gemm(k, &p.op));
  double tolerance = (2 + pair) * tolerance_of(k) + product_tolerance(k),
         rounding = sqrt((double)c->m) * 8 * tolerance;
  assert_all_close(values_of(k, back.dz), dz, count, tolerance);
  if (c->residual) assert_all_close(values_of(k, back.residual_grad), dropped_dy, count, tolerance);
  assert_all_close(doubles(k, back.bias_grad, c->n), sums, c->n, k->dtype == k->real ? tolerance : rounding);
  free_blocks(k->device);
}

static void ends_backward(struct kernels *k) {
  for (int i = 0; i < EPILOGUE_CASES; i++) {
    for (int kind = 0; kind < 4; kind++) check_backward(k, &epilogue_cases[i], kind & 1, kind >> 1);
  }
}

TEST(a_product_takes_the_gradient_of_the_end_below) {
  on_every_table(ends_backward);
}

/* Everything that a hidden layer's epilogue has, on a sum that was begun before. */
static void end_of_sum(struct kernels *k) {
  enum { M = 70, N = 41, INNER = 24 };
  set_scalars(k, (struct scalars){.epoch = 5});
  double *a = integer_block(1, M * INNER), *b = integer_block(2, INNER * N), *old = integer_block(3, M * N);
  double *bias = integer_block(4, N), *expected[2];
  for (int fused = 0; fused < 2; fused++) {
    struct gemm op = {.a = matrix(k, a, M, INNER), .b = matrix(k, b, INNER, N), .c = matrix(k, old, M, N)};
    struct epilogue epilogue = {
        .z = op.c, .bias = reals(k, bias, N), .activation = ACTIVATION_RELU, .y = op.c};
    epilogue.dropout = dropout_of(.25, random_key(1, 2, 3, RANDOM_DROPOUT_HIDDEN), global_ids(k, M));
    op.accumulate = 1;
    op.epilogue = fused ? &epilogue : NULL;
    assert_ok(op_gemm(k, &op));
    if (!fused) assert_ok(op_epilogue(k, &epilogue));
    expected[fused] = values_of(k, op.c);
  }
  assert_all_close(expected[1], expected[0], M * N, tolerance_of(k));
}

TEST(the_end_of_a_layer_follows_what_was_added_up) {
  on_every_table(end_of_sum);
}
