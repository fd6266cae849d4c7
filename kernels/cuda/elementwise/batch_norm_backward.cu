/* dz <- gain rstd (dn - (sum_dn + xhat sum_dn_xhat) / count), xhat = (z + bias - mean) rstd. */
#include "kernels/cuda/elementwise/elementwise_ops.h"
#include "kernels/cuda/elementwise/epilogue_row.cuh"

constexpr int BLOCKS = 3; /* on a multiprocessor */

struct batch_norm {
  struct epilogue forward;
  struct tensor dz;
  const float *sum_dn, *sum_dn_xhat;
  float share; /* 1 / count */
  struct cut cut;
};

/* dz = dn scale - (z - center) slope - constant. */
template <class T, bool WHOLE> struct batch_norm_step {
  static constexpr int ROWS = 4 / (int)sizeof(T);
  struct input {
    packed<T> z[ROWS], dz[ROWS];
  };
  const struct batch_norm &op;
  int end, n;
  int64_t first;
  float center[GROUP], scale[GROUP], slope[GROUP], constant[GROUP];

  __device__ __forceinline__ void load_columns() {
    struct norm_columns norm;
    float sum[GROUP], sum_xhat[GROUP];
    load_norm<true>(op.forward, first, n, norm);
    load_reals(op.sum_dn, first, n, sum);
    load_reals(op.sum_dn_xhat, first, n, sum_xhat);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      center[j] = norm.center[j];
      scale[j] = norm.gain[j] * norm.rstd[j];
      slope[j] = scale[j] * norm.rstd[j] * sum_xhat[j] * op.share;
      constant[j] = scale[j] * sum[j] * op.share;
    }
  }

  __device__ __forceinline__ struct input read(int v) const {
    struct input in;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const int row = v + r * (int)blockDim.y;
      in.z[r] = read_group<T, WHOLE>(op.forward.z, row < end, row, first, n);
      in.dz[r] = read_group<T, WHOLE>(op.dz, row < end, row, first, n);
    }
    return in;
  }

  __device__ __forceinline__ void work(const struct input &in, int v) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const int row = v + r * (int)blockDim.y;
      float z[GROUP], d[GROUP];
      unpack(in.z[r], z);
      unpack(in.dz[r], d);
#pragma unroll
      for (int j = 0; j < GROUP; j++) d[j] = d[j] * scale[j] - (z[j] - center[j]) * slope[j] - constant[j];
      if (row < end && n > 0) store_group<T, WHOLE>(op.dz, row, first, stored_columns(op.dz, first), d);
    }
  }
};

template <class T, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK, BLOCKS)
    batch_norm_backward_kernel(const __grid_constant__ struct batch_norm op) {
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.dz.rows);
  struct batch_norm_step<T, WHOLE> step = {
    op, end, columns_from(op.dz.cols, first_column()), first_column(), {}, {}, {}, {}
  };
  step.load_columns();
  walk(step, begin, end);
}

template <class T> static int launch(struct kernels *k, const struct batch_norm *op) {
  const bool whole = is_whole(op->dz) && is_whole(op->forward.z);
  auto *kernel = whole ? batch_norm_backward_kernel<T, true> : batch_norm_backward_kernel<T, false>;
  kernel<<<grid_of(op->cut, op->dz.cols), block_of(op->dz.cols), 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

int cuda_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op) {
  const struct batch_norm of = {*op->forward,
                                op->dz,
                                (const float *)op->sum_dn,
                                (const float *)op->sum_dn_xhat,
                                (float)(1 / (double)op->count),
                                cut_rows(op->dz.rows, BLOCKS)};
  if (op->dz.rows == 0 || op->dz.cols == 0) return OK;
  return op->dz.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of);
}
