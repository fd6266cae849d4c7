#include "tests/kernels/every_table.h"

/* A product and its parts: A and B as they are given to the op, in doubles and on the device. */
struct product {
  int64_t m, n, inner;
  int ta, tb;
  double *a, *b;
  struct gemm op;
};

/* C_ij += sum_p op(A)_ip op(B)_pj for every step-th row i. */
static void compute(const struct product *p, double *c, int64_t step) {
  for (int64_t i = 0; i < p->m; i += step) {
    for (int64_t t = 0; t < p->inner; t++) {
      double x = p->ta ? p->a[t * p->m + i] : p->a[i * p->inner + t];
      for (int64_t j = 0; j < p->n; j++)
        c[i * p->n + j] += x * (p->tb ? p->b[j * p->inner + t] : p->b[t * p->n + j]);
    }
  }
}

/* Rows lie `pad` elements further apart than they are long, or at multiples of 32 bytes when pad < 0. */
static struct tensor operand(struct kernels *k, const double *value, int64_t rows, int64_t cols,
                             int64_t pad) {
  return padded_matrix(k, value, rows, cols, pad < 0 ? whole_rows(cols) : pad);
}

static struct product product_of(struct kernels *k, double *a, double *b, int64_t m, int64_t n, int64_t inner,
                                 int kind, int64_t pad) {
  struct product p = {.m = m, .n = n, .inner = inner, .ta = kind & 1, .tb = kind >> 1 & 1};
  p.a = rounded(k, a, m * inner);
  p.b = rounded(k, b, inner * n);
  p.op = (struct gemm){.transpose_a = p.ta, .transpose_b = p.tb};
  p.op.a = operand(k, p.a, p.ta ? inner : m, p.ta ? m : inner, pad);
  p.op.b = operand(k, p.b, p.tb ? n : inner, p.tb ? inner : n, pad);
  return p;
}

static struct tensor result(struct kernels *k, enum dtype dtype, const double *old, int64_t m, int64_t n,
                            int64_t pad) {
  return padded_matrix_of(k, dtype, old, m, n, pad < 0 ? whole_rows(n) : pad);
}

static void check_integers(struct kernels *k, int64_t m, int64_t n, int64_t inner, enum dtype dtype,
                           int64_t pad) {
  for (int kind = 0; kind < 8; kind++) {
    double *old = integer_block(3, m * n), *expected = host_block(m * n * 8);
    struct product p = product_of(k, integer_block(1, m * inner), integer_block(2, inner * n), m, n, inner,
                                  kind, pad);
    p.op.accumulate = kind >> 2;
    for (int64_t i = 0; i < m * n; i++) old[i] = element(dtype, old[i]);
    if (p.op.accumulate) memcpy(expected, old, (size_t)(m * n) * 8);
    compute(&p, expected, 1);
    for (int64_t i = 0; i < m * n; i++) expected[i] = element(dtype, expected[i]);
    p.op.c = result(k, dtype, old, m, n, pad);
    assert_ok(op_gemm(k, &p.op));
    assert_all_equal(values_of(k, p.op.c), expected, m * n);
    free_blocks(k->device);
  }
}

static void shapes(struct kernels *k) {
  static const int64_t shape[][3] = {{1, 1, 1},      {7, 3, 5},      {64, 41, 17},   {200, 64, 100},
                                     {17, 8, 900},   {3, 602, 2},    {300, 47, 33},  {130, 96, 31},
                                     {257, 256, 16}, {90, 300, 130}, {129, 112, 48}, {40, 16, 1100}};
  for (int i = 0; i < (int)(sizeof shape / sizeof shape[0]); i++) {
    for (int64_t pad = -1; pad <= 3; pad += 4) {
      check_integers(k, shape[i][0], shape[i][1], shape[i][2], k->real, pad);
      if (k->dtype != k->real) check_integers(k, shape[i][0], shape[i][1], shape[i][2], k->dtype, pad);
    }
  }
}

static void products_of_integers_are_exact_in_every_transposition(void **state) {
  (void)state;
  on_every_table(shapes);
}

static void empty_shapes(struct kernels *k) {
  static const int64_t shape[][3] = {{0, 5, 3}, {5, 0, 3}, {5, 3, 0}, {0, 0, 0}, {0, 5, 0}};
  for (int i = 0; i < 5; i++) check_integers(k, shape[i][0], shape[i][1], shape[i][2], k->dtype, -1);
}

static void an_empty_sum_is_zero_and_an_empty_product_nothing(void **state) {
  (void)state;
  on_every_table(empty_shapes);
}

/* The allowed error of a real product of exact inputs, relative to its largest element. */
static double product_tolerance(const struct kernels *k) {
  return k->precision == PRECISION_TF32 ? 1e-3 : k->real == F64 ? 1e-13 : 1e-5;
}

static double *positive_block(uint64_t seed, int64_t count) {
  double *value = noise_block(seed, count);
  for (int64_t i = 0; i < count; i++) value[i] = (double)(float)(.5 * value[i] + .5);
  return value;
}

/* Elements of every step-th row are within the tolerance of the largest of them; and the product repeats. */
static void check_accuracy(struct kernels *k, struct product *p, int64_t step) {
  double *expected = host_block(p->m * p->n * 8), *first = NULL;
  compute(p, expected, step);
  for (int repeat = 0; repeat < 2; repeat++) {
    p->op.c = result(k, k->real, NULL, p->m, p->n, -1);
    assert_ok(op_gemm(k, &p->op));
    double *actual = values_of(k, p->op.c), size = 0;
    for (int64_t i = 0; i < p->m * p->n; i++) size = fmax(size, fabs(expected[i]));
    for (int64_t i = 0; i < p->m; i += step) {
      for (int64_t j = i * p->n; j < (i + 1) * p->n; j++)
        if (!(fabs(actual[j] - expected[j]) <= product_tolerance(k) * size))
          fail_msg("element %ld: %.12g, expected %.12g, at most %.12g", (long)j, actual[j], expected[j],
                   size);
    }
    if (first) assert_all_equal(actual, first, p->m * p->n);
    first = actual;
  }
  free_blocks(k->device);
}

/* Signs even out what tensor cores cut off a sum; sums of one sign show it. */
static void check_both_signs(struct kernels *k, int64_t m, int64_t n, int64_t inner, int kind, int64_t step) {
  struct product p = product_of(k, noise_block(1, m * inner), noise_block(2, inner * n), m, n, inner, kind,
                                -1);
  check_accuracy(k, &p, step);
  p = product_of(k, positive_block(1, m * inner), positive_block(2, inner * n), m, n, inner, kind, -1);
  check_accuracy(k, &p, step);
}

/* Many tiles of rows, with B whole in the GPU's shared memory and not. */
static void tall_rows(struct kernels *k) {
  static const int64_t shape[][3] = {{60000, 41, 20},  {20000, 256, 40}, {36000, 128, 24}, {2000, 256, 602},
                                     {2000, 128, 602}, {3000, 64, 128},  {500, 40, 1200},  {3000, 47, 256}};
  for (int i = 0; i < (int)(sizeof shape / sizeof shape[0]); i++)
    check_both_signs(k, shape[i][0], shape[i][1], shape[i][2], i % 2 * 2, shape[i][0] / 97);
}

static void tall_products_are_accurate_and_repeat_bit_by_bit(void **state) {
  (void)state;
  on_every_table(tall_rows);
}

/* Gradients of weights: the sum runs over many rows. */
static void tall_sums(struct kernels *k) {
  check_both_signs(k, 33, 16, 20000, 1, 1);
  check_both_signs(k, 5, 3, 150000, 1, 1);
  check_both_signs(k, 256, 47, 3000, 1, 3);
  check_both_signs(k, 100, 256, 3000, 1, 3);
  check_both_signs(k, 602, 256, 1500, 1, 11);
  check_both_signs(k, 128, 256, 1500, 1, 5);
  check_both_signs(k, 70, 30, 200000, 1, 7);
}

static void sums_over_many_rows_are_accurate_and_repeat_bit_by_bit(void **state) {
  (void)state;
  on_every_table(tall_sums);
}

/* More rows than a GPU has in hand at a time, the same over and over: those far down are as those above. */
enum { FAR = 90001, PERIOD = 997, LEFT = 70 };

static double *repeated(const double *rows, int64_t cols) {
  double *value = host_block(FAR * cols * 8);
  for (int64_t i = 0; i < FAR; i++) memcpy(value + i * cols, rows + i % PERIOD * cols, (size_t)cols * 8);
  return value;
}

static double times(int64_t row) {
  return (double)(FAR / PERIOD + (row < FAR % PERIOD));
}

/* What follows a backward pass at once: dW = L^T dZ, of rows of a period that are there so many times. */
static void check_then(struct kernels *k, const struct gemm *then, const double *left, const double *dz) {
  int64_t n = then->c.cols;
  double *dw = host_block(LEFT * n * 8);
  for (int64_t i = 0; i < PERIOD * LEFT; i++)
    for (int64_t j = 0; j < n; j++) dw[i % LEFT * n + j] += times(i / LEFT) * left[i] * dz[i / LEFT * n + j];
  assert_all_close(values_of(k, then->c), dw, LEFT * n, 10 * product_tolerance(k));
}

/* Forward ReLU; backward its gradient, with sums of columns and the gradient of a weight. */
static void check_far_rows(struct kernels *k, int64_t n, int64_t inner, int backward) {
  double *rows = integer_block(1, PERIOD * inner), *z = host_block(PERIOD * n * 8), *sums = host_block(n * 8);
  double *saved = integer_block(3, PERIOD * n);
  struct product p = product_of(k, repeated(rows, inner), integer_block(2, inner * n), FAR, n, inner,
                                backward ? 2 : 0, -1);
  struct product period = {.m = PERIOD, .n = n, .inner = inner, .tb = p.tb, .a = rows, .b = p.b};
  compute(&period, z, 1);
  for (int64_t i = 0; i < PERIOD * n; i++) {
    z[i] = (backward ? saved[i] : z[i]) > 0 ? element(k->dtype, z[i]) : 0;
    sums[i % n] += times(i / n) * z[i];
  }
  double *left = integer_block(4, PERIOD * LEFT);
  struct tensor c = result(k, k->dtype, NULL, FAR, n, -1);
  struct update end = {.z = c, .activation = ACTIVATION_RELU, .y = c};
  struct update_backward back = {.forward = &end, .dy = c, .dz = c, .bias_grad = reals(k, saved, n)};
  struct gemm then = {.a = operand(k, repeated(left, LEFT), FAR, LEFT, -1), .transpose_a = 1, .b = c};
  then.c = result(k, k->real, NULL, LEFT, n, -1);
  back.then = &then;
  p.op.c = c;
  p.op.update = backward ? NULL : &end;
  p.op.backward = backward ? &back : NULL;
  if (backward) end.z = end.y = result(k, k->dtype, repeated(saved, n), FAR, n, -1);
  assert_ok(op_gemm(k, &p.op));
  if (!backward) assert_all_equal(values_of(k, c), repeated(z, n), FAR * n);
  if (backward) check_then(k, &then, left, z);
  if (backward) assert_all_close(doubles(k, back.bias_grad, n), sums, n, tolerance_of(k));
  free_blocks(k->device);
}

static void far_rows(struct kernels *k) {
  check_far_rows(k, 47, 130, 0);
  check_far_rows(k, 64, 40, 1);
  check_far_rows(k, 128, 70, 1);
  check_far_rows(k, 200, 17, 0);
  check_far_rows(k, 256, 41, 1);
}

static void rows_far_down_are_as_those_above(void **state) {
  (void)state;
  on_every_table(far_rows);
}

static void one_bad_row(struct kernels *k) {
  enum { M = 300, N = 41, K = 100, BAD = 77 };
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 3; i++) {
    double *a = noise_block(1, M * K);
    a[BAD * K + 31] = bad[i];
    struct product p = product_of(k, a, noise_block(2, K * N), M, N, K, 0, -1);
    p.op.c = result(k, k->dtype, NULL, M, N, -1);
    assert_ok(op_gemm(k, &p.op));
    double *actual = values_of(k, p.op.c);
    for (int64_t j = 0; j < M * N; j++) assert_int_equal(isfinite(actual[j]), j / N != BAD);
  }
}

static void what_is_not_finite_stays_so_in_its_row_alone(void **state) {
  (void)state;
  on_every_table(one_bad_row);
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

/* One end of a layer on its product: what differs from case to case. */
struct end_case {
  int64_t m, n, inner, pad;
  enum activation activation;
  double dropout;
  int bias, residual, apart; /* apart: y is not z */
  int scaled;                /* rows have factors */
};

static const struct end_case end_cases[] = {
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
};
enum { END_CASES = sizeof end_cases / sizeof end_cases[0] };

static struct dropout dropout_of_case(struct kernels *k, const struct end_case *c) {
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  return dropout_of(c->dropout, random_key(1, 0, 2, RANDOM_DROPOUT_HIDDEN), global_ids(k, c->m));
}

static struct product product_of_case(struct kernels *k, const struct end_case *c, int kind) {
  double *a = noise_block(1, c->m * c->inner), *b = noise_block(2, c->inner * c->n);
  return product_of(k, a, b, c->m, c->n, c->inner, kind, c->pad);
}

static void check_end(struct kernels *k, const struct end_case *c, enum dtype dtype) {
  int64_t count = c->m * c->n;
  struct product p = product_of_case(k, c, 0);
  double *bias = noise_block(3, c->n), *residual = noise_block(4, count), *z = host_block(count * 8);
  double *y = host_block(count * 8);
  for (int64_t i = 0; i < count; i++) residual[i] = element(dtype, residual[i]);
  struct update end = {.activation = c->activation, .dropout = dropout_of_case(k, c)};
  double *factor = row_factors(c->m);
  if (c->scaled) end.scale = reals(k, factor, c->m);
  if (c->bias) end.bias = reals(k, bias, c->n);
  if (c->residual) end.residual = result(k, dtype, residual, c->m, c->n, c->pad);
  p.op.c = end.z = end.y = result(k, dtype, NULL, c->m, c->n, c->pad);
  if (c->apart) end.y = result(k, dtype, NULL, c->m, c->n, c->pad);
  p.op.update = &end;
  compute(&p, z, 1);
  for (int64_t i = 0; i < count; i++) {
    double n = z[i] + (c->bias ? bias[i % c->n] : 0);
    y[i] = activated(c->activation, n) + (c->residual ? residual[i] : 0);
    y[i] = dropped(&end.dropout, EPOCH, global_id(i / c->n), i % c->n, y[i]);
    if (c->scaled) y[i] *= factor[i / c->n];
  }
  assert_ok(op_gemm(k, &p.op));
  double tolerance = tolerance_in(k, dtype) + product_tolerance(k);
  double of_y = tolerance + 2 * tolerance_in(k, dtype); /* z may be rounded before, and dropout scales that */
  assert_all_close(values_of(k, end.y), y, count, of_y);
  if (c->apart) assert_all_close(values_of(k, end.z), z, count, tolerance);
  free_blocks(k->device);
}

static void ends(struct kernels *k) {
  for (int i = 0; i < END_CASES; i++) {
    check_end(k, &end_cases[i], k->dtype);
    if (k->dtype != k->real) check_end(k, &end_cases[i], k->real);
  }
}

static void a_product_takes_the_end_of_its_layer(void **state) {
  (void)state;
  on_every_table(ends);
}

/* The end of the layer below, [m, n], as its forward pass left it: of[0] = n, of[1] = y, and dy of a product.
 */
static void check_backward(struct kernels *k, const struct end_case *c, int accumulate) {
  int64_t count = c->m * c->n;
  struct product p = product_of_case(k, c, 2);
  double *z = rounded(k, noise_block(5, count), count), *bias = noise_block(3, c->n);
  double *dz = rounded(k, noise_block(6, count), count), *sums = host_block(c->n * 8),
         *kept = host_block(count * 8);
  double *dropped_dy = host_block(count * 8), *factor = row_factors(c->m);
  struct update end = {.activation = c->activation, .dropout = dropout_of_case(k, c)};
  if (c->bias) end.bias = reals(k, bias, c->n);
  struct tensor old = result(k, k->dtype, dz, c->m, c->n, c->pad);
  if (!accumulate) memset(dz, 0, (size_t)count * 8);
  compute(&p, dz, 1);
  for (int64_t i = 0; i < count; i++) {
    int64_t id = global_id(i / c->n), j = i % c->n;
    double n = z[i] + (c->bias ? bias[j] : 0);
    kept[i] = element(k->dtype, dropped(&end.dropout, EPOCH, id, j, activated(c->activation, n)));
    if (!c->apart && fabs(kept[i]) < 1e-2) kept[i] = n = 0; /* a sign that rounding may not change */
    dropped_dy[i] = dropped(&end.dropout, EPOCH, id, j, dz[i]);
    dz[i] = sloped(c->activation, n, dropped_dy[i]);
    sums[j] += dz[i];
    if (c->scaled) dz[i] *= factor[i / c->n];
  }
  end.z = end.y = result(k, k->dtype, c->apart ? z : kept, c->m, c->n, c->pad);
  if (c->apart) end.y = result(k, k->dtype, kept, c->m, c->n, c->pad);
  struct update_backward back = {.forward = &end, .dy = old, .dz = old};
  if (c->residual) back.residual_grad = back.dz = result(k, k->dtype, NULL, c->m, c->n, c->pad);
  if (c->residual) back.dz = result(k, k->dtype, NULL, c->m, c->n, c->pad);
  back.bias_grad = reals(k, bias, c->n);
  if (c->scaled) back.scale = reals(k, factor, c->m);
  p.op.c = old;
  p.op.accumulate = accumulate;
  p.op.backward = &back;
  assert_ok(op_gemm(k, &p.op));
  double tolerance = 2 * tolerance_of(k) + product_tolerance(k),
         rounding = sqrt((double)c->m) * 8 * tolerance;
  assert_all_close(values_of(k, back.dz), dz, count, tolerance);
  if (c->residual) assert_all_close(values_of(k, back.residual_grad), dropped_dy, count, tolerance);
  assert_all_close(doubles(k, back.bias_grad, c->n), sums, c->n, k->dtype == k->real ? tolerance : rounding);
  free_blocks(k->device);
}

static void ends_backward(struct kernels *k) {
  for (int i = 0; i < END_CASES; i++) {
    check_backward(k, &end_cases[i], 0);
    check_backward(k, &end_cases[i], 1);
  }
}

static void a_product_takes_the_gradient_of_the_end_below(void **state) {
  (void)state;
  on_every_table(ends_backward);
}

/* Everything that a hidden layer's end has, on a sum that was begun before. */
static void end_of_sum(struct kernels *k) {
  enum { M = 70, N = 41, INNER = 24 };
  set_scalars(k, (struct scalars){.epoch = 5});
  double *a = integer_block(1, M * INNER), *b = integer_block(2, INNER * N), *old = integer_block(3, M * N);
  double *bias = integer_block(4, N), *expected[2];
  for (int fused = 0; fused < 2; fused++) {
    struct gemm op = {.a = matrix(k, a, M, INNER), .b = matrix(k, b, INNER, N), .c = matrix(k, old, M, N)};
    struct update end = {.z = op.c, .bias = reals(k, bias, N), .activation = ACTIVATION_RELU, .y = op.c};
    end.dropout = dropout_of(.25, random_key(1, 2, 3, RANDOM_DROPOUT_HIDDEN), global_ids(k, M));
    op.accumulate = 1;
    op.update = fused ? &end : NULL;
    assert_ok(op_gemm(k, &op));
    if (!fused) assert_ok(op_update(k, &end));
    expected[fused] = values_of(k, op.c);
  }
  assert_all_close(expected[1], expected[0], M * N, tolerance_of(k));
}

static void the_end_of_a_layer_follows_what_was_added_up(void **state) {
  (void)state;
  on_every_table(end_of_sum);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_integers_are_exact_in_every_transposition),
      cmocka_unit_test(an_empty_sum_is_zero_and_an_empty_product_nothing),
      cmocka_unit_test(tall_products_are_accurate_and_repeat_bit_by_bit),
      cmocka_unit_test(sums_over_many_rows_are_accurate_and_repeat_bit_by_bit),
      cmocka_unit_test(rows_far_down_are_as_those_above),
      cmocka_unit_test(what_is_not_finite_stays_so_in_its_row_alone),
      cmocka_unit_test(a_product_takes_the_end_of_its_layer),
      cmocka_unit_test(a_product_takes_the_gradient_of_the_end_below),
      cmocka_unit_test(the_end_of_a_layer_follows_what_was_added_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
