/* out_j = sum_i x_ij / divisor_i. */
#include "kernels/cpu/common/partial.h"
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/base.h"

static void add_rows(const struct column_sums *op, int64_t first, int64_t end, double *sum) {
  const real *divisor = op->divisor;
  int64_t cols = op->x.cols;
  memset(sum, 0, (size_t)cols * sizeof *sum);
  for (int64_t v = first; v < end; v++) {
    const real *x = row_of(op->x, v);
    const double factor = divisor ? 1 / (double)divisor[v] : 1;
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) sum[j] += factor * (double)x[j];
  }
}

int REAL(cpu_column_sums)(struct kernels *k, const struct column_sums *op) {
  int parts = k->device->threads;
  int64_t rows = op->x.rows, cols = op->x.cols;
  double *partial = NULL;
  TRY(kernels_workspace(k, parts * cols * (int64_t)sizeof *partial, (void **)&partial));
#pragma omp parallel for num_threads(threads_for(k, rows *cols)) schedule(static, 1)
  for (int p = 0; p < parts; p++)
    add_rows(op, part_first(rows, parts, p), part_first(rows, parts, p + 1), partial + p * cols);
  add_parts(partial, cols, parts, cols, op->out);
  return OK;
}
