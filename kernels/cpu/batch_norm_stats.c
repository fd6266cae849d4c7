/* mean = sum / count;  variance = sum of squares around it / count;  rstd = 1 / sqrt(variance + epsilon). */
#include <math.h>

#include "kernels/cpu/cpu.h"
#include "runtime/error.h"

int REAL(cpu_batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op) {
  (void)k;
  real *mean = op->mean, *rstd = op->rstd, *running_mean = op->running_mean, *running_var = op->running_var;
  double count = (double)op->count;
  for (int64_t j = 0; j < op->cols; j++) {
    if (op->step == BATCH_NORM_MEAN) {
      mean[j] = (real)((double)mean[j] / count);
    } else if (op->step == BATCH_NORM_RUNNING) {
      mean[j] = running_mean[j];
      rstd[j] = (real)(1 / sqrt((double)running_var[j] + op->epsilon));
    } else {
      double variance = (double)rstd[j] / count, unbiased = op->count > 1 ? (double)rstd[j] / (count - 1) : 0;
      running_mean[j] += (real)op->momentum * (mean[j] - running_mean[j]);
      running_var[j] += (real)op->momentum * ((real)unbiased - running_var[j]);
      rstd[j] = (real)(1 / sqrt(variance + op->epsilon));
    }
  }
  return OK;
}
