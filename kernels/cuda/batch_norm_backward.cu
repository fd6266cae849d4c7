/* dz <- gain rstd (dn - (sum_dn + xhat sum_dn_xhat) / count), xhat = (z + bias - mean) rstd. */
#include "kernels/cuda/update_row.cuh"

struct batch_norm {
  struct update forward;
  struct tensor dz;
  const float *sum_dn, *sum_dn_xhat;
  float share; /* 1 / count */
  bool aligned;
};

template <class T>
static __global__ void __launch_bounds__(BLOCK)
    batch_norm_backward_kernel(const __grid_constant__ struct batch_norm op) {
  int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, cols = op.dz.cols;
  if (v >= op.dz.rows) return;
  for (int64_t first = threadIdx.x * GROUP; first < cols; first += blockDim.x * GROUP) {
    int n = (int)min((int64_t)GROUP, cols - first);
    float xhat[GROUP], d[GROUP];
    load(row_of<T>(op.forward.z, v) + first, n, op.aligned, xhat);
    load(row_of<T>(op.dz, v) + first, n, op.aligned, d);
    add_bias(op.forward, first, n, xhat);
    standardize(op.forward, v, first, n, xhat);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      if (j >= n) break;
      float scale = gain_of(op.forward, first + j) * statistics_of(op.forward, v, first + j).y;
      d[j] = scale * (d[j] - (op.sum_dn[first + j] + xhat[j] * op.sum_dn_xhat[first + j]) * op.share);
    }
    store(row_of<T>(op.dz, v) + first, n, op.aligned, d);
  }
}

int cuda_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op) {
  if (op->dz.rows == 0 || op->dz.cols == 0) return OK;
  struct batch_norm of = {*op->forward,
                          op->dz,
                          (const float *)op->sum_dn,
                          (const float *)op->sum_dn_xhat,
                          (float)(1 / (double)op->count),
                          false};
  of.aligned = cuda_is_aligned(op->dz) && cuda_is_aligned(op->forward->z);
  dim3 block = block_of(op->dz.cols);
  auto *kernel = op->dz.dtype == BF16 ? batch_norm_backward_kernel<bf16> : batch_norm_backward_kernel<float>;
  kernel<<<blocks_of(op->dz.rows, block.y), block, 0, cuda_stream(k)>>>(of);
  TRY_LAUNCH();
  return OK;
}
