/* t_e = scale_e weight[id_e], and the gradient of the weights: grad[id_e] = scale_e (a_e . b_e). Each
 * hyperedge has one owner, so no two write one gradient. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/spmm/spmm_ops.h"

static __global__ void __launch_bounds__(BLOCK)
    weights_kernel(const __grid_constant__ struct incidence_weights op) {
  const int64_t e = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (e >= op.count) return;
  ((float *)op.out)[e] = ((const float *)op.scale)[e] * ((const float *)op.weight)[op.id[e]];
}

int cuda_incidence_weights(struct kernels *k, const struct incidence_weights *op) {
  if (op->count == 0) return OK;
  weights_kernel<<<blocks_of(op->count, BLOCK), BLOCK, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

/* Sum over the lanes of a row, the same in each; by whole warps. */
static __device__ __forceinline__ double sum_of_row(double x) {
  for (unsigned o = 1; o < blockDim.x; o *= 2) x += __shfl_xor_sync(~0u, x, o);
  return x;
}

template <class T>
static __global__ void __launch_bounds__(BLOCK)
    gradient_kernel(const __grid_constant__ struct incidence_weights_backward op, bool aligned) {
  const int64_t e = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  double sum = 0;
  for (int64_t first = threadIdx.x * GROUP; e < op.count && first < op.a.cols; first += blockDim.x * GROUP) {
    const int n = columns_from(op.a.cols, first);
    float a[GROUP], b[GROUP];
    load(row_of<T>(op.a, e) + first, n, aligned, a);
    load(row_of<T>(op.b, e) + first, n, aligned, b);
#pragma unroll
    for (int j = 0; j < GROUP; j++) sum += (double)a[j] * (double)b[j];
  }
  sum = sum_of_row(sum);
  if (threadIdx.x == 0 && e < op.count)
    ((float *)op.grad)[op.id[e]] = (float)((double)((const float *)op.scale)[e] * sum);
}

int cuda_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op) {
  const bool aligned = cuda_is_aligned(op->a) && cuda_is_aligned(op->b);
  const dim3 block = block_of(op->a.cols);
  auto *kernel = op->a.dtype == BF16 ? gradient_kernel<bf16> : gradient_kernel<float>;
  if (op->count < op->hyperedges)
    TRY_CUDA(cudaMemsetAsync(op->grad, 0, (size_t)op->hyperedges * sizeof(float), cuda_stream(k)));
  if (op->count == 0) return OK;
  kernel<<<blocks_of(op->count, block.y), block, 0, cuda_stream(k)>>>(*op, aligned);
  TRY_LAUNCH();
  return OK;
}
