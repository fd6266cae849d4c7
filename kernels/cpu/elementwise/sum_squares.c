/* scalars.squares = sum x_i^2; frozen when that is not finite. */
#include "kernels/cpu/common/cpu.h"
#include "runtime/base/error.h"

int REAL(cpu_sum_squares)(struct kernels *k, const void *x, int64_t count) {
  int parts = k->device->threads;
  const real *value = x;
  double *sum = NULL, total = 0;
  TRY(kernels_workspace(k, parts * (int64_t)sizeof *sum, (void **)&sum));
#pragma omp parallel for num_threads(threads_for(k, count)) schedule(static, 1)
  for (int p = 0; p < parts; p++) {
    double mine = 0;
    int64_t end = part_first(count, parts, p + 1);
#pragma omp simd reduction(+ : mine)
    for (int64_t i = part_first(count, parts, p); i < end; i++) mine += (double)value[i] * (double)value[i];
    sum[p] = mine;
  }
  for (int p = 0; p < parts; p++) total += sum[p];
  k->scalars->squares = total;
  if (!isfinite(total)) k->scalars->frozen = 1;
  return OK;
}
