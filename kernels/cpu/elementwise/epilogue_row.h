/* The element-wise epilogue of a layer on one row; see struct epilogue. */
#ifndef KERNELS_CPU_ELEMENTWISE_EPILOGUE_ROW_H
#define KERNELS_CPU_ELEMENTWISE_EPILOGUE_ROW_H

#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/elementwise/dropout_row.h"

#define LEAKY_SLOPE ((real)0.01)

/* u = z + bias; u may be z. */
static inline void add_bias(const struct epilogue *op, const real *z, real *u) {
  const real *bias = op->bias;
  if (!bias && u == z) return;
#pragma omp simd
  for (int64_t j = 0; j < op->z.cols; j++) u[j] = bias ? z[j] + bias[j] : z[j];
}

/* Mean and 1 / deviation over row v, into op->mean[v] and op->rstd[v]. */
static inline void layer_statistics(const struct epilogue *op, int64_t v, const real *u) {
  int64_t cols = op->z.cols;
  real sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < cols; j++) sum += u[j];
  real mean = sum / (real)cols;
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < cols; j++) squares += (u[j] - mean) * (u[j] - mean);
  ((real *)op->mean)[v] = mean;
  ((real *)op->rstd)[v] = 1 / real_sqrt(squares / (real)cols + (real)op->epsilon);
}

/* u <- xhat = (u - mean) rstd, by the row's or the columns' statistics. */
static inline void standardize(const struct epilogue *op, int64_t v, real *u) {
  const real *mean = op->mean, *rstd = op->rstd;
  if (op->norm == NORM_LAYER) {
    real row_mean = mean[v], row_rstd = rstd[v];
#pragma omp simd
    for (int64_t j = 0; j < op->z.cols; j++) u[j] = (u[j] - row_mean) * row_rstd;
  } else {
#pragma omp simd
    for (int64_t j = 0; j < op->z.cols; j++) u[j] = (u[j] - mean[j]) * rstd[j];
  }
}

/* n = xhat gain + shift; n may be xhat. */
static inline void gain_and_shift(const struct epilogue *op, const real *xhat, real *n) {
  const real *gain = op->gain, *shift = op->shift;
#pragma omp simd
  for (int64_t j = 0; j < op->z.cols; j++)
    n[j] = (gain ? xhat[j] * gain[j] : xhat[j]) + (shift ? shift[j] : (real)0);
}

/* a = act(n) in place; a NaN stays one. */
static inline void activate(enum activation activation, int64_t cols, real *y) {
  switch (activation) {
  case ACTIVATION_NONE:
    break;
  case ACTIVATION_RELU:
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) y[j] = y[j] < 0 ? (real)0 : y[j];
    break;
  case ACTIVATION_ELU:
    for (int64_t j = 0; j < cols; j++) y[j] = y[j] < 0 ? real_expm1(y[j]) : y[j];
    break;
  case ACTIVATION_LEAKY_RELU:
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) y[j] = y[j] < 0 ? LEAKY_SLOPE * y[j] : y[j];
    break;
  }
}

/* All of struct epilogue for row v. */
static inline void epilogue_row(const struct epilogue *op, uint32_t epoch, int64_t v) {
  int64_t cols = op->z.cols;
  real *y = row_of(op->y, v);
  add_bias(op, row_of(op->z, v), y);
  if (op->norm == NORM_LAYER) layer_statistics(op, v, y);
  if (op->norm != NORM_NONE) {
    standardize(op, v, y);
    gain_and_shift(op, y, y);
  }
  activate(op->activation, cols, y);
  if (op->residual.data) {
    const real *residual = row_of(op->residual, v);
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) y[j] += residual[j];
  }
  if (op->dropout.threshold > 0) dropout_row(&op->dropout, epoch, v, cols, y, y);
  if (op->scale) scale_row(((const real *)op->scale)[v], cols, y);
}

#endif
