/* Matrix products for tests: what goes in, in doubles and on the device, and what must come out. */
#ifndef TESTS_KERNELS_PRODUCTS_H
#define TESTS_KERNELS_PRODUCTS_H

#include "kernels/ops/gemm.h"
#include "tests/kernels/every_table.h"

/* A product and its parts: A and B as they are given to the op, in doubles and on the device. */
struct product {
  int64_t m, n, inner;
  int ta, tb;
  double *a, *b;
  int64_t inner2; /* 0: there is no second product */
  double *a2, *b2;
  struct gemm op;
};

/* C_ij += sum_p op(A)_ip op(B)_pj for every step-th row i; and A2 op(B2). */
static inline void compute(const struct product *p, double *c, int64_t step) {
  const struct product second = {
      .m = p->m, .n = p->n, .inner = p->inner2, .tb = p->tb, .a = p->a2, .b = p->b2};
  if (p->inner2 > 0) compute(&second, c, step);
  for (int64_t i = 0; i < p->m; i += step) {
    for (int64_t t = 0; t < p->inner; t++) {
      double x = p->ta ? p->a[t * p->m + i] : p->a[i * p->inner + t];
      for (int64_t j = 0; j < p->n; j++)
        c[i * p->n + j] += x * (p->tb ? p->b[j * p->inner + t] : p->b[t * p->n + j]);
    }
  }
}

/* Rows lie `pad` elements further apart than they are long; when pad < 0 at multiples of 32 bytes, as close
 * as that allows with -1, 16 elements further apart with -2. */
static inline int64_t gap(int64_t cols, int64_t pad) {
  return pad < 0 ? whole_rows(cols) - 16 * (pad + 1) : pad;
}

static inline struct tensor operand(struct kernels *k, const double *value, int64_t rows, int64_t cols,
                                    int64_t pad) {
  return padded_matrix(k, value, rows, cols, gap(cols, pad));
}

static inline struct product product_of(struct kernels *k, double *a, double *b, int64_t m, int64_t n,
                                        int64_t inner, int kind, int64_t pad) {
  struct product p = {.m = m, .n = n, .inner = inner, .ta = kind & 1, .tb = kind >> 1 & 1};
  p.a = rounded(k, a, m * inner);
  p.b = rounded(k, b, inner * n);
  p.op = (struct gemm){.transpose_a = p.ta, .transpose_b = p.tb};
  p.op.a = operand(k, p.a, p.ta ? inner : m, p.ta ? m : inner, pad);
  p.op.b = operand(k, p.b, p.tb ? n : inner, p.tb ? inner : n, pad);
  return p;
}

/* A second product, of so many terms. */
static inline void add_second(struct kernels *k, struct product *p, double *a2, double *b2, int64_t inner2,
                              int64_t pad) {
  p->inner2 = inner2;
  p->a2 = rounded(k, a2, p->m * inner2);
  p->b2 = rounded(k, b2, inner2 * p->n);
  p->op.a2 = operand(k, p->a2, p->m, inner2, pad);
  p->op.b2 = operand(k, p->b2, p->tb ? p->n : inner2, p->tb ? inner2 : p->n, pad);
}

static inline struct tensor result(struct kernels *k, enum dtype dtype, const double *old, int64_t m,
                                   int64_t n, int64_t pad) {
  return padded_matrix_of(k, dtype, old, m, n, gap(n, pad));
}

/* The allowed error of a real product of exact inputs, relative to its largest element. */
static inline double product_tolerance(const struct kernels *k) {
  return k->precision == PRECISION_TF32 ? 1e-3 : k->real == F64 ? 1e-13 : 1e-5;
}

/* `far` rows that are those of a period [period, cols] over and over. */
static inline double *repeated(const double *rows, int64_t cols, int64_t far, int64_t period) {
  double *value = host_block(far * cols * 8);
  for (int64_t i = 0; i < far; i++) memcpy(value + i * cols, rows + i % period * cols, (size_t)cols * 8);
  return value;
}

/* How often row `row` of the period is among them. */
static inline double times(int64_t row, int64_t far, int64_t period) {
  return (double)(far / period + (row < far % period));
}

#endif
