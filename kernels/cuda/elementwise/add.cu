/* y = (y +) factor x + diagonal I; see struct add. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

/* What the kernel reads of struct add. */
struct terms {
  struct tensor x, y;
  float factor, diagonal;
  bool accumulate, whole; /* rows of both are_whole */
};

/* Of a launch: one, or several of the same shapes. */
template <int COUNT> struct all_terms { struct terms each[COUNT]; };
constexpr int MANY = 16;

/* One thread eight columns of a row. */
template <class X, class Y, int COUNT>
static __global__ void __launch_bounds__(BLOCK)
    add_kernel(const __grid_constant__ struct all_terms<COUNT> all) {
  const struct terms &op = all.each[COUNT == 1 ? 0 : blockIdx.y];
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

static struct terms terms_of(const struct add *op) {
  return {op->x,
          op->y,
          (float)op->factor,
          (float)op->diagonal,
          op->accumulate != 0,
          is_whole(op->x) && is_whole(op->y)};
}

template <class X, class Y, int COUNT> static int launch(struct kernels *k, const struct add *op, int count) {
  struct all_terms<COUNT> all = {};
  const dim3 block = block_of(op->y.cols);
  for (int i = 0; i < count; i++) all.each[i] = terms_of(&op[i]);
  add_kernel<X, Y, COUNT>
      <<<dim3(blocks_of(op->y.rows, block.y), (unsigned)count), block, 0, cuda_stream(k)>>>(all);
  TRY_LAUNCH();
  return OK;
}

template <class X, class Y> static int add_all(struct kernels *k, const struct add *op, int count) {
  for (int done = 0; count > 1 && done < count; done += MANY)
    TRY((launch<X, Y, MANY>(k, op + done, min(count - done, MANY))));
  return count > 1 ? OK : launch<X, Y, 1>(k, op, 1);
}

int cuda_add(struct kernels *k, const struct add *op, int count) {
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  if (op->x.dtype == BF16)
    return op->y.dtype == BF16 ? add_all<bf16, bf16>(k, op, count) : add_all<bf16, float>(k, op, count);
  return op->y.dtype == BF16 ? add_all<float, bf16>(k, op, count) : add_all<float, float>(k, op, count);
}
