/* mean = sum / count;  variance = sum of squares around it / count;  rstd = 1 / sqrt(variance + epsilon).
 * Squares around a rank's own mean m become those around the mean: + rows (m - mean)^2. */
#include <math.h>

#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/error.h"

/* What squares grow by around another mean. */
static double moved(real own_sum, int64_t rows, real mean) {
  double distance = (double)own_sum / (double)rows - (double)mean;
  return (double)rows * distance * distance;
}

int REAL(cpu_batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op) {
  (void)k;
  real *mean = op->mean, *rstd = op->rstd, *running_mean = op->running_mean, *running_var = op->running_var;
  const real *own_sum = op->own_sum;
  double count = (double)op->count;
  for (int64_t j = 0; j < op->cols; j++) {
    if (op->step == BATCH_NORM_RUNNING) {
      mean[j] = running_mean[j];
      rstd[j] = (real)(1 / sqrt((double)running_var[j] + op->epsilon));
      continue;
    }
    if (op->step != BATCH_NORM_VARIANCE) {
      mean[j] = (real)((double)mean[j] / count);
      if (own_sum && op->rows > 0) rstd[j] += (real)moved(own_sum[j], op->rows, mean[j]);
    }
    if (op->step != BATCH_NORM_MEAN) {
      double variance = (double)rstd[j] / count, unbiased = op->count > 1 ? (double)rstd[j] / (count - 1) : 0;
      running_mean[j] += (real)op->momentum * (mean[j] - running_mean[j]);
      running_var[j] += (real)op->momentum * ((real)unbiased - running_var[j]);
      rstd[j] = (real)(1 / sqrt(variance + op->epsilon));
    }
  }
  return OK;
}
