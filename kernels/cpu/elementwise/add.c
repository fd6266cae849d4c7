/* y = (y +) factor x + diagonal I; see struct add. */
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/error.h"

static void add_one(struct kernels *k, const struct add *op) {
  int64_t rows = op->y.rows, cols = op->y.cols;
  real factor = (real)op->factor;
#pragma omp parallel for num_threads(threads_for(k, rows *cols)) schedule(static)
  for (int64_t v = 0; v < rows; v++) {
    const real *x = row_of(op->x, v);
    real *y = row_of(op->y, v);
    for (int64_t j = 0; j < cols; j++) y[j] = (op->accumulate ? y[j] : 0) + factor * x[j];
    if (v < cols) y[v] += (real)op->diagonal;
  }
}

int REAL(cpu_add)(struct kernels *k, const struct add *op, int count) {
  for (int i = 0; i < count; i++) add_one(k, &op[i]);
  return OK;
}
