/* What other nodes need of a node for attention by cosines, and the way of a gradient through x / |x|; see
 * struct cosine_rows and cosine_epilogue. A warp takes a row: rows of any width and address. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/common/vec.cuh"

/* A warp's rows of a matrix, eight columns a lane. */
static inline dim3 warps() {
  return dim3(32, BLOCK / 32);
}

struct cosine_rows_op {
  struct tensor x, dz, y, log_sum;
  struct cosine_message to;
};

template <class T, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK)
    cosine_rows_kernel(const __grid_constant__ struct cosine_rows_op op) {
  const int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, width = op.x.cols;
  const bool backward = op.dz.cols > 0;
  float squares = 0, delta = 0;
  if (v >= op.x.rows) return; /* the whole warp */
  for (int64_t first = threadIdx.x * GROUP; first < width; first += 32 * GROUP) {
    const int n = columns_from(width, first);
    float x[GROUP], dz[GROUP], y[GROUP];
    load_group<T, WHOLE>(op.x, v, first, n, x);
    store_group<T, WHOLE>(op.to.x, v, first, n, x);
    if (backward) {
      load_group<T, WHOLE>(op.dz, v, first, n, dz);
      load_group<T, WHOLE>(op.y, v, first, n, y);
      store_group<T, WHOLE>(op.to.dz, v, first, n, dz);
    }
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      squares += j < n ? x[j] * x[j] : 0;
      delta += backward && j < n ? dz[j] * y[j] : 0;
    }
  }
  squares = sum_of_lanes(squares);
  delta = sum_of_lanes(delta);
  if (threadIdx.x > 0) return;
  *place_of<float>(op.to.inverse, v, 0) = squares > 0 ? 1 / sqrtf(squares) : 0;
  if (!backward) return;
  *place_of<float>(op.to.log_sum, v, 0) = *place_of<float>(op.log_sum, v, 0);
  *place_of<float>(op.to.delta, v, 0) = delta;
}

template <class T> static int launch(struct kernels *k, const struct cosine_rows_op *op) {
  const bool whole = is_whole(op->x) && is_whole(op->to.x) &&
                     (op->dz.cols == 0 || (is_whole(op->dz) && is_whole(op->y) && is_whole(op->to.dz)));
  auto *kernel = whole ? cosine_rows_kernel<T, true> : cosine_rows_kernel<T, false>;
  kernel<<<blocks_of(op->x.rows, warps().y), warps(), 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

int cuda_cosine_rows(struct kernels *k, const struct cosine_rows *op) {
  const struct cosine_rows_op of = {op->x, op->dz, op->y, op->log_sum,
                                    cosine_parts(k, op->message, op->x.cols)};
  if (op->x.rows == 0) return OK;
  return op->x.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of);
}

struct cosine_epilogue_op {
  struct tensor x, inverse, dx, dn, residual, y;
};

/* SUM: of dx and dn. */
template <class T, class SUM, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK)
    cosine_epilogue_kernel(const __grid_constant__ struct cosine_epilogue_op op) {
  const int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, width = op.y.cols;
  float along = 0, x[GROUP], dn[GROUP];
  if (v >= op.y.rows) return; /* the whole warp */
  const float inverse = *place_of<float>(op.inverse, v, 0);
  for (int64_t first = threadIdx.x * GROUP; first < width; first += 32 * GROUP) {
    const int n = columns_from(width, first);
    load_group<T, WHOLE>(op.x, v, first, n, x);
    load_group<SUM, WHOLE>(op.dn, v, first, n, dn);
#pragma unroll
    for (int j = 0; j < GROUP; j++) along += j < n ? x[j] * dn[j] : 0;
  }
  along = sum_of_lanes(along) * inverse * inverse;
  for (int64_t first = threadIdx.x * GROUP; first < width; first += 32 * GROUP) {
    const int n = columns_from(width, first);
    float y[GROUP], residual[GROUP] = {};
    load_group<T, WHOLE>(op.x, v, first, n, x);
    load_group<SUM, WHOLE>(op.dn, v, first, n, dn);
    load_group<SUM, WHOLE>(op.dx, v, first, n, y);
    if (op.residual.data) load_group<T, WHOLE>(op.residual, v, first, n, residual);
#pragma unroll
    for (int j = 0; j < GROUP; j++) y[j] += inverse * (dn[j] - along * x[j]) + residual[j];
    store_group<T, WHOLE>(op.y, v, first, n, y);
  }
}

template <class T, class SUM>
static int launch_epilogue(struct kernels *k, const struct cosine_epilogue_op *op) {
  const bool whole = is_whole(op->x) && is_whole(op->dx) && is_whole(op->dn) && is_whole(op->y) &&
                     is_whole_or_absent(op->residual);
  auto *kernel = whole ? cosine_epilogue_kernel<T, SUM, true> : cosine_epilogue_kernel<T, SUM, false>;
  kernel<<<blocks_of(op->y.rows, warps().y), warps(), 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

int cuda_cosine_epilogue(struct kernels *k, const struct cosine_epilogue *op) {
  const int64_t width = op->y.cols;
  const struct tensor message = op->message;
  const struct cosine_epilogue_op of = {tensor_columns(message, 0, width),
                                        tensor_reals(k, message, message_elements(k, width), 1),
                                        op->dx,
                                        op->dn,
                                        op->residual,
                                        op->y};
  if (op->y.rows == 0) return OK;
  if (op->y.dtype == F32) return launch_epilogue<float, float>(k, &of);
  return op->dx.dtype == F32 ? launch_epilogue<bf16, float>(k, &of) : launch_epilogue<bf16, bf16>(k, &of);
}
