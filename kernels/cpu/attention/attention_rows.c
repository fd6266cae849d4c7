/* delta_v = dy_v . y_v and the gradient of row_term; see struct attention_rows. */
#include "kernels/cpu/attention/attention_arc.h"
#include "runtime/base/base.h"

static void compute_row(const struct attention_rows *op, int64_t v) {
  int64_t heads = op->heads, width = op->y.cols / heads, cols = op->dz.cols;
  int averaged = cols != op->y.cols;
  const real *dz = row_of(op->dz, v), *y = row_of(op->y, v), *positive = row_of(op->positive, v);
  const real *share = row_of(op->share, v);
  real *message = row_of(op->message, v), *reals = message + message_piece(REAL_DTYPE, cols);
  real *delta = reals + 2 * heads;
  memcpy(message, dz, (size_t)cols * sizeof *dz);
  memcpy(reals, row_of(op->row_term, v), (size_t)heads * sizeof(real));
  memcpy(reals + heads, row_of(op->log_sum, v), (size_t)heads * sizeof(real));
  for (int64_t h = 0; h < heads; h++) {
    const real *dy = averaged ? dz : dz + h * width;
    real factor = averaged ? 1 / (real)heads : (real)1;
    delta[h] = factor * dot(dy, y + h * width, width);
    real positive_part = factor * dot(dy, positive + h * width, width);
    row_of(op->row_term_grad, v)[h] = (1 - SCORE_SLOPE) * (positive_part - delta[h] * share[h]);
  }
}

int REAL(cpu_attention_rows)(struct kernels *k, const struct attention_rows *op) {
  int64_t rows = op->y.rows;
#pragma omp parallel for num_threads(threads_for(k, rows * op->y.cols)) schedule(static)
  for (int64_t v = 0; v < rows; v++) compute_row(op, v);
  return OK;
}
