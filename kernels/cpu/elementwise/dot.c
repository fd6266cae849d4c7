/* *out = sum of a_ij b_ij. */
#include "kernels/cpu/common/partial.h"
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/error.h"

int REAL(cpu_dot)(struct kernels *k, const struct dot *op) {
  int parts = k->device->threads;
  int64_t rows = op->a.rows, cols = op->a.cols;
  double *sum = NULL;
  TRY(kernels_workspace(k, parts * (int64_t)sizeof *sum, (void **)&sum));
#pragma omp parallel for num_threads(threads_for(k, rows *cols)) schedule(static, 1)
  for (int p = 0; p < parts; p++) {
    double mine = 0;
    for (int64_t v = part_first(rows, parts, p); v < part_first(rows, parts, p + 1); v++) {
      const real *a = row_of(op->a, v), *b = row_of(op->b, v);
#pragma omp simd reduction(+ : mine)
      for (int64_t j = 0; j < cols; j++) mine += (double)a[j] * (double)b[j];
    }
    sum[p] = mine;
  }
  add_parts(sum, 1, parts, 1, op->out);
  return OK;
}
