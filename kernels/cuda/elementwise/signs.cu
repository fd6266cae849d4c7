/* Bits of what is above 0; see struct signs. */
#include "kernels/cuda/common/walk.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

/* A thread makes bytes of its columns. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    signs_kernel(struct tensor x, struct tensor of, bool aligned) {
  const int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (v >= x.rows) return;
  for (int64_t first = threadIdx.x * GROUP; first < x.cols; first += blockDim.x * GROUP) {
    float value[GROUP];
    unsigned bits = 0;
    load(row_of<T>(x, v) + first, columns_from(x.cols, first), aligned, value);
#pragma unroll
    for (int j = 0; j < GROUP; j++) bits |= (first + j < x.cols && value[j] > 0) << j;
    row_of<uint8_t>(of, v)[first / GROUP] = (uint8_t)bits;
  }
}

int cuda_signs(struct kernels *k, const struct signs *op) {
  const dim3 block = block_of(op->x.cols);
  auto *kernel = op->x.dtype == BF16 ? signs_kernel<bf16> : signs_kernel<float>;
  if (op->x.rows == 0 || op->x.cols == 0) return OK;
  kernel<<<blocks_of(op->x.rows, block.y), block, 0, cuda_stream(k)>>>(op->x, op->of, cuda_is_aligned(op->x));
  TRY_LAUNCH();
  return OK;
}
