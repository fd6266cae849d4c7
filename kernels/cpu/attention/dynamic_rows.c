/* What the arcs into a row ask of it in the backward of dynamic scores; see struct dynamic_rows. */
#include "kernels/cpu/attention/attention_arc.h"
#include "runtime/base/base.h"

static void write_message(const struct dynamic_rows *op, int64_t v) {
  int64_t heads = op->heads, width = op->y.cols / heads, out = op->dz.cols;
  int averaged = out != op->y.cols;
  const real *dz = row_of(op->dz, v), *y = row_of(op->y, v);
  real *message = row_of(op->message, v), *right = message + message_piece(REAL_DTYPE, out);
  real *log_sum = right + message_piece(REAL_DTYPE, op->y.cols), *delta = log_sum + heads;
  memcpy(message, dz, (size_t)out * sizeof *dz);
  memcpy(right, row_of(op->right, v), (size_t)op->y.cols * sizeof *right);
  memcpy(log_sum, row_of(op->log_sum, v), (size_t)heads * sizeof *log_sum);
  for (int64_t h = 0; h < heads; h++) {
    const real *dy = averaged ? dz : dz + h * width;
    delta[h] = (averaged ? 1 / (real)heads : (real)1) * dot(dy, y + h * width, width);
  }
}

int REAL(cpu_dynamic_rows)(struct kernels *k, const struct dynamic_rows *op) {
  int64_t rows = op->y.rows;
#pragma omp parallel for num_threads(threads_for(k, rows * op->y.cols)) schedule(static)
  for (int64_t v = 0; v < rows; v++) write_message(op, v);
  return OK;
}
