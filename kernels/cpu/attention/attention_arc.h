/* What forward and backward of attention share about one arc; see kernels/ops/attention.h. */
#ifndef KERNELS_CPU_ATTENTION_ATTENTION_ARC_H
#define KERNELS_CPU_ATTENTION_ATTENTION_ARC_H

#include "kernels/cpu/attention/attention_ops.h"

#define SCORE_SLOPE ((real)0.2)

static inline real leaky(real x) {
  return x > 0 ? x : SCORE_SLOPE * x;
}

/* keep[h] = k_vu of the arc (row <- col): the dropout's scale, or 0. */
static inline void keep_heads(const struct dropout *op, uint32_t epoch, int64_t row, int64_t col,
                              int64_t heads, real *keep) {
  struct philox_block bits = {{0}};
  for (int64_t h = 0; h < heads; h++) {
    if (h % 8 == 0) bits = philox(attention_counter(row, col, h / 8, epoch), op->key);
    uint32_t lane = bits.word[h % 8 / 2] >> (h % 2 ? 16 : 0) & 0xFFFF;
    keep[h] = lane >= op->threshold ? (real)op->wide_scale : (real)0;
  }
}

/* Row u of two matrices, the second from row `near` on; near 0: of x. */
static inline real *row_of_two(struct tensor x, struct tensor far, int64_t near, int64_t u) {
  return near > 0 && u >= near ? row_of(far, u - near) : row_of(x, u);
}

/* a . LeakyReLU(x + right) of a head's columns. */
static inline real dynamic_score(const real *x, const real *right, const real *a, int64_t n) {
  real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; j++) sum += a[j] * leaky(x[j] + right[j]);
  return sum;
}

/* A node's message for attention by cosines. */
struct cosine_row {
  const real *x, *dz;
  real inverse, log_sum, delta;
};

static inline real *cosine_inverse(real *message, int64_t width) {
  return message + message_piece(REAL_DTYPE, width);
}

static inline real *cosine_dz(real *message, int64_t width) {
  return cosine_inverse(message, width) + message_piece(REAL_DTYPE, 1);
}

/* backward: with what stands behind 1 / |x|. */
static inline struct cosine_row cosine_row(struct tensor messages, int64_t v, int64_t width, int backward) {
  real *message = row_of(messages, v), *dz = cosine_dz(message, width);
  struct cosine_row row = {.x = message, .inverse = *cosine_inverse(message, width)};
  if (!backward) return row;
  const real *reals = dz + message_piece(REAL_DTYPE, width);
  row.dz = dz;
  row.log_sum = reals[0];
  row.delta = reals[1];
  return row;
}

static inline real dot(const real *x, const real *y, int64_t n) {
  real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; j++) sum += x[j] * y[j];
  return sum;
}

/* y += factor x */
static inline void add_times(real factor, const real *x, int64_t n, real *y) {
#pragma omp simd
  for (int64_t j = 0; j < n; j++) y[j] += factor * x[j];
}

static inline void multiply_by(real factor, int64_t n, real *y) {
#pragma omp simd
  for (int64_t j = 0; j < n; j++) y[j] *= factor;
}

#endif
