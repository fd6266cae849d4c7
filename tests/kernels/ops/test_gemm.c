#include "runtime/base/integer.h"
#include "tests/kernels/products.h"

static const double minus_two = -2;

/* inner2: terms of a second product; 0: none. Products with A^T have a factor. */
static void check_integers(struct kernels *k, int64_t m, int64_t n, int64_t inner, int64_t inner2,
                           enum dtype dtype, int64_t pad) {
  for (int kind = 0; kind < 8; kind += inner2 ? 2 : 1) {
    double *old = integer_block(3, m * n), *expected = host_block(m * n * 8);
    struct product p = product_of(k, integer_block(1, m * inner), integer_block(2, inner * n), m, n, inner,
                                  kind, pad);
    if (inner2 > 0)
      add_second(k, &p, integer_block(4, m * inner2), integer_block(5, inner2 * n), inner2, pad);
    p.op.accumulate = kind >> 2;
    for (int64_t i = 0; i < m * n; i++) old[i] = element(dtype, old[i]);
    if (p.ta) p.op.factor = &minus_two;
    compute(&p, expected, 1);
    for (int64_t i = 0; i < m * n; i++)
      expected[i] = element(dtype, (p.ta ? minus_two : 1) * expected[i] + (p.op.accumulate ? old[i] : 0));
    p.op.c = result(k, dtype, old, m, n, pad);
    assert_ok(op_gemm(k, &p.op));
    if (inner2 > 0 && dtype == BF16) /* may be rounded between the products */
      assert_all_close(values_of(k, p.op.c), expected, m * n, 2 * tolerance_in(k, dtype));
    else
      assert_all_equal(values_of(k, p.op.c), expected, m * n);
    free_blocks(k->device);
  }
}

static void shapes(struct kernels *k) {
  static const int64_t shape[][3] = {{1, 1, 1},      {7, 3, 5},      {64, 41, 17},   {200, 64, 100},
                                     {17, 8, 900},   {3, 602, 2},    {300, 47, 33},  {130, 96, 31},
                                     {257, 256, 16}, {90, 300, 130}, {129, 112, 48}, {40, 16, 1100},
                                     {33, 40, 128},  {65, 100, 47},  {63, 129, 256}, {66, 256, 128}};
  static const int64_t pad[] = {-2, -1, 3};
  for (int i = 0; i < (int)(sizeof shape / sizeof shape[0]); i++) {
    for (int j = 0; j < 3; j++) {
      check_integers(k, shape[i][0], shape[i][1], shape[i][2], 0, k->real, pad[j]);
      if (k->dtype != k->real) check_integers(k, shape[i][0], shape[i][1], shape[i][2], 0, k->dtype, pad[j]);
    }
  }
}

TEST(products_of_integers_are_exact_in_every_transposition) {
  on_every_table(shapes);
}

static void second_products(struct kernels *k) {
  static const int64_t shape[][4] = {
      {1, 1, 1, 1},       {64, 41, 17, 47},    {200, 64, 100, 33},  {300, 47, 256, 256}, {300, 256, 100, 128},
      {130, 200, 31, 64}, {257, 256, 41, 47},  {90, 300, 130, 20},  {129, 112, 48, 96},  {500, 130, 128, 65},
      {40, 16, 1100, 3},  {63, 129, 256, 100}, {66, 256, 250, 100}, {65, 100, 47, 300}};
  static const int64_t pad[] = {-2, -1, 3};
  for (int i = 0; i < (int)(sizeof shape / sizeof shape[0]); i++) {
    const int64_t *s = shape[i];
    for (int j = 0; j < 3; j++) {
      check_integers(k, s[0], s[1], s[2], s[3], k->real, pad[j]);
      if (k->dtype != k->real) check_integers(k, s[0], s[1], s[2], s[3], k->dtype, pad[j]);
    }
  }
}

TEST(two_products_are_added_in_the_same_sums) {
  on_every_table(second_products);
}

static void empty_shapes(struct kernels *k) {
  static const int64_t shape[][3] = {{0, 5, 3}, {5, 0, 3}, {5, 3, 0}, {0, 0, 0}, {0, 5, 0}};
  for (int i = 0; i < 5; i++) check_integers(k, shape[i][0], shape[i][1], shape[i][2], 0, k->dtype, -1);
}

TEST(an_empty_sum_is_zero_and_an_empty_product_nothing) {
  on_every_table(empty_shapes);
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
          fail_msg("%s, %ld terms, element %ld: %.12g, expected %.12g, at most %.12g",
                   precision_name[k->precision], (long)p->inner, (long)j, actual[j], expected[j], size);
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

/* Many tiles of rows, with B whole in the GPU's shared memory and not; on the processor an eighth of them. */
static void tall_rows(struct kernels *k) {
  static const int64_t shape[][3] = {{60000, 41, 20},  {20000, 256, 40}, {36000, 128, 24}, {2000, 256, 602},
                                     {2000, 128, 602}, {3000, 64, 128},  {500, 40, 1200},  {3000, 47, 256}};
  for (int i = 0; i < (int)(sizeof shape / sizeof shape[0]); i++) {
    int64_t rows = shape[i][0] / (k->device->ops->on_host ? 8 : 1);
    check_both_signs(k, rows, shape[i][1], shape[i][2], i % 2 * 2, larger(1, rows / 97));
  }
  if (k->dtype == BF16) return; /* whose sums stay in one piece: a result in bf16 is rounded by far more */
  check_both_signs(k, 500, 40, 8192, 0, 5);
  check_both_signs(k, 300, 130, 5001, 2, 3);
}

TEST(tall_products_are_accurate_and_repeat_bit_by_bit) {
  on_every_table(tall_rows);
}

/* Gradients of weights: the sum runs over many rows. */
static void tall_sums(struct kernels *k) {
  check_both_signs(k, 33, 16, 20000, 1, 1);
  check_both_signs(k, 5, 3, 300000, 1, 1);
  check_both_signs(k, 256, 47, 3000, 1, 3);
  check_both_signs(k, 100, 256, 3000, 1, 3);
  check_both_signs(k, 602, 256, 1500, 1, 11);
  check_both_signs(k, 128, 256, 1500, 1, 5);
  check_both_signs(k, 66, 20, 70000, 1, 7);
}

TEST(sums_over_many_rows_are_accurate_and_repeat_bit_by_bit) {
  on_every_table(tall_sums);
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

TEST(what_is_not_finite_stays_so_in_its_row_alone) {
  on_every_table(one_bad_row);
}
