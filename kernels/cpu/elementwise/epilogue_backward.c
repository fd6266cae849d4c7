/* dz from dy, and the gradients of shift, gain and bias; see struct epilogue_backward. With g = dn gain,
 * layer norm gives dz = rstd (g - mean(g) - xhat mean(g xhat)), the means over the row. */
#include "kernels/cpu/common/partial.h"
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "runtime/base/base.h"

/* What one part of the rows works with. */
struct scratch {
  double *shift, *gain, *bias; /* [cols] sums */
  real *xhat, *n;              /* [cols] of the current row */
};

static int saved_is_y(const struct epilogue *forward) {
  return forward->y.data == forward->z.data;
}

/* dz = dropout'(dy). After a ReLU whose output was kept, a dropped element reads as 0 and needs no mask. */
static void drop_gradient(const struct epilogue *forward, uint32_t epoch, int64_t v, const real *dy,
                          real *dz) {
  int64_t cols = forward->z.cols;
  real scale = (real)forward->dropout.wide_scale;
  if (forward->dropout.threshold == 0) {
    if (dz != dy) memcpy(dz, dy, (size_t)cols * sizeof *dz);
  } else if (saved_is_y(forward) && forward->activation == ACTIVATION_RELU) {
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) dz[j] = dy[j] * scale;
  } else {
    dropout_row(&forward->dropout, epoch, v, cols, dy, dz);
  }
}

/* dz *= act'(n), n given. */
static void activate_backward(enum activation activation, int64_t cols, const real *n, real *dz) {
  switch (activation) {
  case ACTIVATION_NONE:
    break;
  case ACTIVATION_RELU:
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) dz[j] = n[j] > 0 ? dz[j] : (real)0;
    break;
  case ACTIVATION_ELU:
    for (int64_t j = 0; j < cols; j++) dz[j] = n[j] > 0 ? dz[j] : dz[j] * real_exp(n[j]);
    break;
  case ACTIVATION_LEAKY_RELU:
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) dz[j] = n[j] > 0 ? dz[j] : dz[j] * LEAKY_SLOPE;
    break;
  }
}

/* The same of a ReLU from the signs of y. */
static void activate_backward_from_signs(struct tensor signs, int64_t v, int64_t cols, real *dz) {
  const uint8_t *bits = (const uint8_t *)signs.data + v * signs.stride;
  for (int64_t j = 0; j < cols; j++) dz[j] = bits[j / 8] >> j % 8 & 1 ? dz[j] : (real)0;
}

/* The same from y, which is act(n) times the dropout's scale: the sign of n is that of y, and for ELU
 * exp(n) = act(n) + 1. Where y was dropped dz is 0 already. */
static void activate_backward_from_y(const struct epilogue *forward, const real *y, real *dz) {
  real unscale = forward->dropout.threshold > 0 ? 1 / (real)forward->dropout.wide_scale : (real)1;
  int64_t cols = forward->z.cols;
  if (forward->activation == ACTIVATION_ELU) {
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) dz[j] = y[j] > 0 ? dz[j] : dz[j] * (y[j] * unscale + 1);
  } else {
    activate_backward(forward->activation, cols, y, dz);
  }
}

/* n of row v again from z; leaves xhat in scratch when there is a norm. */
static void recompute(const struct epilogue *forward, int64_t v, struct scratch *s) {
  if (forward->norm == NORM_NONE) {
    add_bias(forward, row_of(forward->z, v), s->n);
    return;
  }
  add_bias(forward, row_of(forward->z, v), s->xhat);
  standardize(forward, v, s->xhat);
  gain_and_shift(forward, s->xhat, s->n);
}

static void layer_norm_backward(const struct epilogue *forward, int64_t v, const real *xhat, real *dz) {
  const real *gain = forward->gain;
  int64_t cols = forward->z.cols;
  real sum = 0, sum_xhat = 0, rstd = ((const real *)forward->rstd)[v];
#pragma omp simd reduction(+ : sum, sum_xhat)
  for (int64_t j = 0; j < cols; j++) {
    real g = gain ? dz[j] * gain[j] : dz[j];
    sum += g;
    sum_xhat += g * xhat[j];
  }
  real mean = sum / (real)cols, mean_xhat = sum_xhat / (real)cols;
#pragma omp simd
  for (int64_t j = 0; j < cols; j++) {
    real g = gain ? dz[j] * gain[j] : dz[j];
    dz[j] = rstd * (g - mean - xhat[j] * mean_xhat);
  }
}

static void add_row(double *sum, const real *a, const real *b, int64_t cols) {
  if (b) {
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) sum[j] += (double)(a[j] * b[j]);
  } else {
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) sum[j] += (double)a[j];
  }
}

static void backward_row(const struct epilogue_backward *op, uint32_t epoch, int64_t v, struct scratch *s) {
  const struct epilogue *forward = op->forward;
  int64_t cols = forward->z.cols;
  real *dz = row_of(op->dz, v);
  drop_gradient(forward, epoch, v, row_of(op->dy, v), dz);
  if (op->residual_grad.data) memcpy(row_of(op->residual_grad, v), dz, (size_t)cols * sizeof *dz);
  if (op->signs.data) {
    activate_backward_from_signs(op->signs, v, cols, dz);
  } else if (saved_is_y(forward)) {
    activate_backward_from_y(forward, row_of(forward->y, v), dz);
  } else {
    recompute(forward, v, s);
    activate_backward(forward->activation, cols, s->n, dz);
  }
  if (op->shift_grad) add_row(s->shift, dz, NULL, cols);
  if (op->gain_grad) add_row(s->gain, dz, s->xhat, cols);
  if (forward->norm == NORM_LAYER) layer_norm_backward(forward, v, s->xhat, dz);
  if (op->bias_grad) add_row(s->bias, dz, NULL, cols);
  if (op->scale) scale_row(((const real *)op->scale)[v], cols, dz);
}

int REAL(cpu_epilogue_backward)(struct kernels *k, const struct epilogue_backward *op) {
  int parts = k->device->threads;
  int64_t rows = op->dz.rows, cols = op->dz.cols, stride = 5 * cols; /* in doubles: reals fit too */
  uint32_t epoch = k->scalars->epoch;
  double *scratch = NULL;
  TRY(kernels_workspace(k, parts * stride * (int64_t)sizeof *scratch, (void **)&scratch));
#pragma omp parallel for num_threads(threads_for(k, rows *cols)) schedule(static, 1)
  for (int p = 0; p < parts; p++) {
    double *mine = scratch + p * stride;
    memset(mine, 0, (size_t)stride * sizeof *mine);
    struct scratch s = {mine, mine + cols, mine + 2 * cols, (real *)(mine + 3 * cols),
                        (real *)(mine + 4 * cols)};
    int64_t end = part_first(rows, parts, p + 1);
    for (int64_t v = part_first(rows, parts, p); v < end; v++) backward_row(op, epoch, v, &s);
  }
  if (op->shift_grad) add_parts(scratch, stride, parts, cols, op->shift_grad);
  if (op->gain_grad) add_parts(scratch + cols, stride, parts, cols, op->gain_grad);
  if (op->bias_grad) add_parts(scratch + 2 * cols, stride, parts, cols, op->bias_grad);
  return OK;
}
