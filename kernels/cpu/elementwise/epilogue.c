/* y = dropout(act(norm(z + bias)) + residual); see struct update. */
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "runtime/base/error.h"

int REAL(cpu_update)(struct kernels *k, const struct update *op) {
  uint32_t epoch = k->scalars->epoch;
#pragma omp parallel for num_threads(threads_for(k, op->z.rows * op->z.cols)) schedule(static)
  for (int64_t v = 0; v < op->z.rows; v++) update_row(op, epoch, v);
  return OK;
}
