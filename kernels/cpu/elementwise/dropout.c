/* y = dropout(x); see struct dropout. */
#include "kernels/cpu/elementwise/dropout_row.h"
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/base.h"

int REAL(cpu_dropout)(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y) {
  uint32_t epoch = k->scalars->epoch;
#pragma omp parallel for num_threads(threads_for(k, x.rows *x.cols)) schedule(static)
  for (int64_t v = 0; v < x.rows; v++) {
    if (op->threshold > 0)
      dropout_row(op, epoch, v, x.cols, row_of(x, v), row_of(y, v));
    else
      memmove(row_of(y, v), row_of(x, v), (size_t)x.cols * sizeof(real));
  }
  return OK;
}
