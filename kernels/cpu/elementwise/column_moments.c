/* sum_j = sum_i x_ij; squares_j = sum_i (x_ij - sum_j / rows)^2; see struct column_moments. */
#include <math.h>

#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/base.h"

/* sum[0 .. cols): of x - shift; sum[cols .. 2 cols): of its squares. */
static void add_rows(const struct column_moments *op, int64_t first, int64_t end, double *sum) {
  int64_t cols = op->x.cols;
  const real *shift = row_of(op->x, 0);
  memset(sum, 0, (size_t)(2 * cols) * sizeof *sum);
  for (int64_t v = first; v < end; v++) {
    const real *x = row_of(op->x, v);
#pragma omp simd
    for (int64_t j = 0; j < cols; j++) {
      real difference = x[j] - shift[j];
      sum[j] += (double)difference;
      sum[cols + j] += (double)(difference * difference);
    }
  }
}

static void end_column(const struct column_moments *op, int64_t j, double shifted, double squares) {
  double rows = (double)op->x.rows, shift = op->x.rows > 0 ? (double)((const real *)op->x.data)[j] : 0;
  ((real *)op->sum)[j] = (real)(shifted + rows * shift);
  ((real *)op->squares)[j] = (real)(rows > 0 ? fmax(0, squares - shifted * shifted / rows) : 0);
}

int REAL(cpu_column_moments)(struct kernels *k, const struct column_moments *op) {
  int parts = k->device->threads;
  int64_t rows = op->x.rows, cols = op->x.cols;
  double *partial = NULL;
  TRY(kernels_workspace(k, parts * 2 * cols * (int64_t)sizeof *partial, (void **)&partial));
#pragma omp parallel for num_threads(threads_for(k, 2 * rows * cols)) schedule(static, 1)
  for (int p = 0; p < parts; p++)
    add_rows(op, part_first(rows, parts, p), part_first(rows, parts, p + 1), partial + p * 2 * cols);
  for (int64_t j = 0; j < cols; j++) {
    double sum[2] = {0};
    for (int p = 0; p < parts; p++)
      for (int s = 0; s < 2; s++) sum[s] += partial[(2 * p + s) * cols + j];
    end_column(op, j, sum[0], sum[1]);
  }
  return OK;
}
