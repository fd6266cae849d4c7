/* What other nodes need of a node for attention by cosines, and the way of a gradient through x / |x|; see
 * struct cosine_rows and cosine_epilogue. */
#include "kernels/cpu/attention/attention_arc.h"
#include "runtime/base/base.h"

static void write_message(const struct cosine_rows *op, int64_t v) {
  int64_t width = op->x.cols;
  real *message = row_of(op->message, v), *behind = cosine_dz(message, width);
  real length = real_sqrt(dot(row_of(op->x, v), row_of(op->x, v), width));
  memcpy(message, row_of(op->x, v), (size_t)width * sizeof(real));
  *cosine_inverse(message, width) = length == 0 ? (real)0 : 1 / length;
  if (op->dz.cols == 0) return;
  const real *dz = row_of(op->dz, v);
  real *reals = behind + message_piece(REAL_DTYPE, width);
  memcpy(behind, dz, (size_t)width * sizeof(real));
  reals[0] = row_of(op->log_sum, v)[0];
  reals[1] = dot(dz, row_of(op->y, v), width);
}

int REAL(cpu_cosine_rows)(struct kernels *k, const struct cosine_rows *op) {
#pragma omp parallel for num_threads(threads_for(k, op->x.rows * op->x.cols)) schedule(static)
  for (int64_t v = 0; v < op->x.rows; v++) write_message(op, v);
  return OK;
}

int REAL(cpu_cosine_epilogue)(struct kernels *k, const struct cosine_epilogue *op) {
  int64_t rows = op->y.rows, width = op->y.cols;
#pragma omp parallel for num_threads(threads_for(k, rows *width)) schedule(static)
  for (int64_t v = 0; v < rows; v++) {
    const struct cosine_row node = cosine_row(op->message, v, width, 0);
    const real *x = node.x, *dx = row_of(op->dx, v), *dn = row_of(op->dn, v);
    const real *residual = op->residual.data ? row_of(op->residual, v) : NULL;
    real inverse = node.inverse, along = dot(dn, x, width) * inverse * inverse;
    real *y = row_of(op->y, v);
#pragma omp simd
    for (int64_t j = 0; j < width; j++)
      y[j] = dx[j] + inverse * (dn[j] - along * x[j]) + (residual ? residual[j] : (real)0);
  }
  return OK;
}
