#include "tests/kernels/every_table.h"

/* C = op(A) op(B) (+ C) by three loops; a and b are stored as they are given to the op. */
static void compute(const double *a, const double *b, double *c, int64_t m, int64_t n, int64_t inner, int ta,
                    int tb) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      for (int64_t p = 0; p < inner; p++)
        c[i * n + j] += (ta ? a[p * m + i] : a[i * inner + p]) * (tb ? b[j * inner + p] : b[p * n + j]);
    }
  }
}

static void check_shape(struct kernels *k, int64_t m, int64_t n, int64_t inner) {
  for (int kind = 0; kind < 8; kind++) {
    int ta = kind & 1, tb = kind >> 1 & 1, accumulate = kind >> 2;
    double *a = integer_block(1, m * inner), *b = integer_block(2, inner * n), *old = integer_block(3, m * n);
    double *expected = host_block(m * n * 8);
    if (accumulate) memcpy(expected, old, (size_t)(m * n) * 8);
    compute(a, b, expected, m, n, inner, ta, tb);
    struct gemm op = {.transpose_a = ta, .transpose_b = tb, .accumulate = accumulate};
    op.a = padded_matrix(k, a, ta ? inner : m, ta ? m : inner, 3);
    op.b = padded_matrix(k, b, tb ? n : inner, tb ? inner : n, 1);
    op.c = padded_matrix(k, old, m, n, 2);
    assert_ok(op_gemm(k, &op));
    assert_all_equal(values_of(k, op.c), expected, m * n);
  }
}

static void shapes(struct kernels *k) {
  static const int64_t shape[][3] = {{1, 1, 1},      {7, 3, 5},    {64, 41, 17},
                                     {200, 64, 100}, {17, 8, 900}, {3, 602, 2}};
  for (int i = 0; i < (int)(sizeof shape / sizeof shape[0]); i++)
    check_shape(k, shape[i][0], shape[i][1], shape[i][2]);
}

static void products_of_integers_are_exact_in_every_transposition(void **state) {
  (void)state;
  on_every_table(shapes);
}

static void empty_shapes(struct kernels *k) {
  check_shape(k, 0, 5, 3);
  check_shape(k, 5, 0, 3);
  check_shape(k, 5, 3, 0);
  check_shape(k, 0, 0, 0);
}

static void an_empty_sum_is_zero_and_an_empty_product_nothing(void **state) {
  (void)state;
  on_every_table(empty_shapes);
}

/* A weight gradient: the sum runs over many rows, on several threads. */
static void tall_product(struct kernels *k) {
  enum { ROWS = 20000, M = 33, N = 16 };
  double *a = noise_block(1, ROWS * M), *b = noise_block(2, ROWS * N), *expected = host_block(M * N * 8);
  compute(a, b, expected, M, N, ROWS, 1, 0);
  struct tensor ta = matrix(k, a, ROWS, M), tb = matrix(k, b, ROWS, N), c[2];
  for (int i = 0; i < 2; i++) {
    c[i] = matrix(k, NULL, M, N);
    assert_ok(op_gemm(k, &(struct gemm){.a = ta, .b = tb, .c = c[i], .transpose_a = 1}));
  }
  assert_all_close(values_of(k, c[0]), expected, M * N, tolerance_of(k));
  assert_all_equal(values_of(k, c[0]), values_of(k, c[1]), M * N);
}

static void tall_products_are_accurate_and_repeat_bit_by_bit(void **state) {
  (void)state;
  on_every_table(tall_product);
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
      cmocka_unit_test(the_end_of_a_layer_follows_what_was_added_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
