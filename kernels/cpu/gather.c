#include <string.h>

#include "kernels/cpu/cpu.h"
#include "runtime/error.h"

int REAL(cpu_gather)(struct kernels *k, struct tensor x, const int32_t *rows, struct tensor y) {
  const real *from = x.data;
  real *to = y.data;
  size_t bytes = (size_t)y.cols * sizeof(real);
#pragma omp parallel for num_threads(threads_for(k, y.rows *y.cols)) schedule(static)
  for (int64_t i = 0; i < y.rows; i++) memcpy(to + i * y.stride, from + rows[i] * x.stride, bytes);
  return OK;
}
