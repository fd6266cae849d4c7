#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/base.h"

int REAL(cpu_gather)(struct kernels *k, const struct gather *op) {
  const real *scale = op->scale;
  int64_t cols = op->y.cols;
#pragma omp parallel for num_threads(threads_for(k, op->y.rows *cols)) schedule(static)
  for (int64_t i = 0; i < op->y.rows; i++) {
    const int64_t row = op->rows ? op->rows[i] : i;
    const real *from = row_of(op->x, row);
    real *to = row_of(op->y, i);
    if (!scale) {
      memcpy(to, from, (size_t)cols * sizeof *to);
      continue;
    }
    for (int64_t j = 0; j < cols; j++) to[j] = scale[row] * from[j];
  }
  return OK;
}
