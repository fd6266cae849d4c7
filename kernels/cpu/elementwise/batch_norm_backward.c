/* dz <- gain rstd (dn - (sum_dn + xhat sum_dn_xhat) / count), xhat = (z + bias - mean) rstd. */
#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "runtime/base/error.h"

int REAL(cpu_batch_norm_backward)(struct kernels *k, const struct batch_norm_backward *op) {
  const struct epilogue *forward = op->forward;
  const real *bias = forward->bias, *mean = forward->mean, *rstd = forward->rstd, *gain = forward->gain;
  const real *sum_dn = op->sum_dn, *sum_dn_xhat = op->sum_dn_xhat;
  int threads = threads_for(k, op->dz.rows * op->dz.cols);
  real share = (real)(1 / (double)op->count);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t v = 0; v < op->dz.rows; v++) {
    const real *z = row_of(forward->z, v);
    real *dz = row_of(op->dz, v);
#pragma omp simd
    for (int64_t j = 0; j < op->dz.cols; j++) {
      real xhat = (z[j] + (bias ? bias[j] : (real)0) - mean[j]) * rstd[j];
      real scale = gain ? gain[j] * rstd[j] : rstd[j];
      dz[j] = scale * (dz[j] - (sum_dn[j] + xhat * sum_dn_xhat[j]) * share);
    }
  }
  return OK;
}
