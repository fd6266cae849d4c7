/* y = dropout(x); see struct dropout. */
#include "kernels/cuda/columns.cuh"

template <class T>
static __global__ void dropout_kernel(struct tensor x, struct dropout op, struct tensor y,
                                      const struct scalars *scalars, bool aligned) {
  int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (v >= x.rows) return;
  uint32_t epoch = scalars->epoch;
  for (int64_t first = threadIdx.x * GROUP; first < x.cols; first += blockDim.x * GROUP) {
    int n = (int)min((int64_t)GROUP, x.cols - first);
    float value[GROUP];
    load(row_of<T>(x, v) + first, n, aligned, value);
    if (op.threshold > 0) drop(op, epoch, v, first, value);
    store(row_of<T>(y, v) + first, n, aligned, value);
  }
}

int cuda_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y) {
  if (x.rows == 0 || x.cols == 0) return OK;
  bool aligned = cuda_is_aligned(x) && cuda_is_aligned(y);
  dim3 block = block_of(x.cols);
  auto *kernel = x.dtype == BF16 ? dropout_kernel<bf16> : dropout_kernel<float>;
  kernel<<<blocks_of(x.rows, block.y), block, 0, cuda_stream(k)>>>(x, *op, y, k->scalars, aligned);
  TRY_LAUNCH();
  return OK;
}
