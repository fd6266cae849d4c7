/* y = dropout(act(norm(z + bias)) + residual); see struct epilogue. */
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "runtime/base/error.h"

int REAL(cpu_epilogue)(struct kernels *k, const struct epilogue *op) {
  uint32_t epoch = k->scalars->epoch;
#pragma omp parallel for num_threads(threads_for(k, op->z.rows * op->z.cols)) schedule(static)
  for (int64_t v = 0; v < op->z.rows; v++) epilogue_row(op, epoch, v);
  return OK;
}
