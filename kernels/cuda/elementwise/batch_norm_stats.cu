/* mean = sum / count;  variance = sum of squares around it / count;  rstd = 1 / sqrt(variance + epsilon).
 * Squares around a rank's own mean m become those around the mean: + rows (m - mean)^2. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

static __global__ void batch_norm_stats_kernel(struct batch_norm_stats op) {
  pdl_prologue();
  float *mean = (float *)op.mean, *rstd = (float *)op.rstd;
  float *running_mean = (float *)op.running_mean, *running_var = (float *)op.running_var;
  double count = (double)op.count;
  int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= op.cols) return;
  if (op.step == batch_norm_stats::BATCH_NORM_RUNNING) {
    mean[j] = running_mean[j];
    rstd[j] = (float)(1 / sqrt((double)running_var[j] + op.epsilon));
    return;
  }
  if (op.step != batch_norm_stats::BATCH_NORM_VARIANCE) {
    mean[j] = (float)((double)mean[j] / count);
    if (op.own_sum && op.rows > 0) {
      const double rows = (double)op.rows, distance = ((const float *)op.own_sum)[j] / rows - (double)mean[j];
      rstd[j] += (float)(rows * distance * distance);
    }
  }
  if (op.step != batch_norm_stats::BATCH_NORM_MEAN) {
    double squares = (double)rstd[j], unbiased = op.count > 1 ? squares / (count - 1) : 0;
    running_mean[j] += (float)op.momentum * (mean[j] - running_mean[j]);
    running_var[j] += (float)op.momentum * ((float)unbiased - running_var[j]);
    rstd[j] = (float)(1 / sqrt(squares / count + op.epsilon));
  }
}

int cuda_batch_norm_stats(struct kernels *k, const struct batch_norm_stats *op) {
  if (op->cols == 0) return OK;
  return pdl_launch(k, batch_norm_stats_kernel, blocks_of(op->cols, BLOCK), BLOCK, 0, *op);
}
