/* Bits of what is above 0; see struct signs. */
#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/base.h"

static uint8_t byte_of(const real *x, int64_t cols) {
  unsigned bits = 0;
  for (int64_t j = 0; j < cols; j++) bits |= (unsigned)(x[j] > 0) << j;
  return (uint8_t)bits;
}

int REAL(cpu_signs)(struct kernels *k, const struct signs *op) {
  const int64_t cols = op->x.cols;
#pragma omp parallel for num_threads(threads_for(k, op->x.rows *cols)) schedule(static)
  for (int64_t v = 0; v < op->x.rows; v++) {
    const real *x = row_of(op->x, v);
    uint8_t *bits = (uint8_t *)op->of.data + v * op->of.stride;
    for (int64_t j = 0; j < cols; j += 8) bits[j / 8] = byte_of(x + j, smaller(cols - j, 8));
  }
  return OK;
}
