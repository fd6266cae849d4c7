/* y = (y +) factor x + diagonal I; see struct add. */
#include "kernels/cuda/columns.cuh"

/* What the kernel reads of struct add. */
struct terms {
  struct tensor x, y;
  float factor, diagonal;
  bool accumulate, whole; /* rows of both are_whole */
};

/* One thread eight columns of a row. */
template <class X, class Y>
static __global__ void __launch_bounds__(BLOCK) add_kernel(const __grid_constant__ struct terms op) {
  const int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (v >= op.y.rows) return;
  for (int64_t first = threadIdx.x * GROUP; first < op.y.cols; first += blockDim.x * GROUP) {
    const int n = columns_from(op.y.cols, first);
    Y *at = place_of<Y>(op.y, v, first);
    float x[GROUP], y[GROUP] = {};
    load(place_of<X>(op.x, v, first), n, op.whole, x);
    if (op.accumulate) load(at, n, op.whole, y);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      y[j] = fmaf(op.factor, x[j], y[j]);
      if (first + j == v) y[j] += op.diagonal;
    }
    store(at, n, op.whole, y);
  }
}

template <class X> static void (*kernel_of(const struct add *op))(struct terms) {
  return op->y.dtype == BF16 ? add_kernel<X, bf16> : add_kernel<X, float>;
}

int cuda_add(struct kernels *k, const struct add *op) {
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  const struct terms terms = {op->x,
                              op->y,
                              (float)op->factor,
                              (float)op->diagonal,
                              op->accumulate != 0,
                              is_whole(op->x) && is_whole(op->y)};
  const dim3 block = block_of(op->y.cols);
  auto *kernel = op->x.dtype == BF16 ? kernel_of<bf16>(op) : kernel_of<float>(op);
  kernel<<<blocks_of(op->y.rows, block.y), block, 0, cuda_stream(k)>>>(terms);
  TRY_LAUNCH();
  return OK;
}
