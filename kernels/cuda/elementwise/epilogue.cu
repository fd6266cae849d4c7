/* y = dropout(act(norm(z + bias)) + residual); see struct epilogue. The statistics of a layer norm come from
 * the row's lanes together, or where these do not hold all columns, from a kernel before. */
#include "kernels/cuda/elementwise/elementwise_ops.h"
#include "kernels/cuda/elementwise/epilogue.h"
#include "kernels/cuda/elementwise/epilogue_row.cuh"

/* Blocks of a kernel on a multiprocessor. */
template <class T, bool NORM> constexpr int BLOCKS = NORM || sizeof(T) == 4 ? 3 : 5;

struct epilogue_rows {
  struct epilogue epilogue;
  const int32_t *rows;
  int64_t count;
  const uint8_t *has_halo;
  const struct scalars *scalars;
  struct cut cut;
  bool lanes_hold; /* all columns of a row */
};

/* Row i of those to work on; -1: none. */
static __device__ __forceinline__ int row_at(const struct epilogue_rows &op, int i, int end) {
  const int v = i >= end ? -1 : op.rows ? op.rows[i] : i;
  return v >= 0 && op.has_halo && op.has_halo[v] ? -1 : v;
}

/* Mean and 1 / deviation of the row of which this lane has u; lanes with n = 0 have none of it. */
static __device__ __forceinline__ float2 statistics_of_lanes(const struct epilogue &op, int n,
                                                             const float (&u)[GROUP]) {
  float sum = 0, squares = 0;
#pragma unroll
  for (int j = 0; j < GROUP; j++) sum += j < n ? u[j] : 0;
  const float cols = (float)op.z.cols, mean = sum_of_lanes(sum) / cols;
#pragma unroll
  for (int j = 0; j < GROUP; j++) squares += j < n ? (u[j] - mean) * (u[j] - mean) : 0;
  return make_float2(mean, 1 / sqrtf(sum_of_lanes(squares) / cols + (float)op.epsilon));
}

template <class T, bool NORM, bool WHOLE> struct epilogue_step {
  static constexpr int ROWS = 1;
  struct input {
    int row; /* -1: none */
    int64_t id;
    packed<T> z, residual;
  };
  const struct epilogue_rows &op;
  uint32_t epoch;
  int end, n, stored;
  int64_t first;
  struct norm_columns columns;

  __device__ __forceinline__ struct input read(int i) const {
    const struct epilogue &epilogue = op.epilogue;
    struct input in;
    in.row = row_at(op, i, end);
    in.z = read_group<T, WHOLE>(epilogue.z, in.row >= 0, in.row, first, n);
    if (epilogue.residual.data)
      in.residual = read_group<T, WHOLE>(epilogue.residual, in.row >= 0, in.row, first, n);
    in.id = epilogue.dropout.threshold > 0 && in.row >= 0 ? epilogue.dropout.id[in.row] : 0;
    return in;
  }

  __device__ __forceinline__ void normalize(int row, float (&u)[GROUP]) const {
    const struct epilogue &epilogue = op.epilogue;
    float *mean = (float *)epilogue.mean, *rstd = (float *)epilogue.rstd;
    if (epilogue.norm == NORM_LAYER) {
      float2 s = make_float2(0, 1);
      if (op.lanes_hold)
        s = statistics_of_lanes(epilogue, n, u);
      else if (row >= 0)
        s = make_float2(mean[row], rstd[row]);
      if (op.lanes_hold && row >= 0 && threadIdx.x == 0) mean[row] = s.x, rstd[row] = s.y;
#pragma unroll
      for (int j = 0; j < GROUP; j++) u[j] = (u[j] - s.x) * s.y;
    }
#pragma unroll
    for (int j = 0; j < GROUP; j++) u[j] = u[j] * columns.rstd[j] * columns.gain[j] + columns.shift[j];
  }

  __device__ __forceinline__ void work(const struct input &in, int) const {
    const struct epilogue &epilogue = op.epilogue;
    float u[GROUP];
    unpack(in.z, u);
#pragma unroll
    for (int j = 0; j < GROUP; j++) u[j] -= columns.center[j];
    if (NORM) normalize(in.row, u);
    activate(epilogue.activation, u);
    if (epilogue.residual.data) {
      float residual[GROUP];
      unpack(in.residual, residual);
#pragma unroll
      for (int j = 0; j < GROUP; j++) u[j] += residual[j];
    }
    if (epilogue.dropout.threshold > 0) drop(epilogue.dropout, epoch, in.id, first, u);
    if (epilogue.scale) multiply_by(scale_of(epilogue.scale, in.row, in.row >= 0), u);
    if (in.row >= 0 && n > 0) store_group<T, WHOLE>(epilogue.y, in.row, first, stored, u);
  }
};

template <class T, bool NORM, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK, (BLOCKS<T, NORM>))
    epilogue_kernel(const __grid_constant__ struct epilogue_rows op) {
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.count);
  const int64_t first = first_column();
  const int n = columns_from(op.epilogue.z.cols, first), stored = stored_columns(op.epilogue.y, first);
  struct epilogue_step<T, NORM, WHOLE> step = {
    op, op.scalars->epoch, end, n, stored, first, {}
  };
  load_norm<NORM>(op.epilogue, first, n, step.columns);
  walk(step, begin, end);
}

/* Sum over row v (-1: none) of u - center or of its square, by the row's lanes together. */
template <class T>
static __device__ __forceinline__ float sum_of_row(const struct epilogue &op, int v, float center,
                                                   bool squared) {
  float u[GROUP], bias[GROUP], sum = 0;
  for (int64_t first = threadIdx.x * GROUP; v >= 0 && first < op.z.cols; first += blockDim.x * GROUP) {
    const int n = columns_from(op.z.cols, first);
    load_group<T, false>(op.z, v, first, n, u);
    load_reals_or(op.bias, 0, first, n, bias);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      const float value = u[j] + bias[j] - center;
      sum += j < n ? (squared ? value * value : value) : 0;
    }
  }
  return sum_of_lanes(sum);
}

template <class T>
static __global__ void __launch_bounds__(BLOCK)
    layer_statistics_kernel(const __grid_constant__ struct epilogue_rows op) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  const int v = row_at(op, (int)i, (int)op.count);
  const float cols = (float)op.epilogue.z.cols, mean = sum_of_row<T>(op.epilogue, v, 0, false) / cols;
  const float variance = sum_of_row<T>(op.epilogue, v, mean, true) / cols;
  if (v < 0 || threadIdx.x > 0) return;
  ((float *)op.epilogue.mean)[v] = mean;
  ((float *)op.epilogue.rstd)[v] = 1 / sqrtf(variance + (float)op.epilogue.epsilon);
}

template <class T, bool NORM> static int launch(struct kernels *k, const struct epilogue_rows *op) {
  const struct epilogue *epilogue = &op->epilogue;
  struct epilogue_rows of = *op;
  const bool whole = is_whole(epilogue->z) && is_whole(epilogue->y) && is_whole_or_absent(epilogue->residual);
  const dim3 block = block_of(epilogue->z.cols);
  if (epilogue->norm == NORM_LAYER && !op->lanes_hold) {
    layer_statistics_kernel<T><<<blocks_of(op->count, block.y), block, 0, cuda_stream(k)>>>(*op);
    TRY_LAUNCH();
  }
  auto *kernel = whole ? epilogue_kernel<T, NORM, true> : epilogue_kernel<T, NORM, false>;
  of.cut = cut_rows(op->count, BLOCKS<T, NORM>);
  kernel<<<grid_of(of.cut, epilogue->z.cols), block, 0, cuda_stream(k)>>>(of);
  TRY_LAUNCH();
  return OK;
}

template <class T> static int launch(struct kernels *k, const struct epilogue_rows *op) {
  return op->epilogue.norm == NORM_NONE ? launch<T, false>(k, op) : launch<T, true>(k, op);
}

int cuda_epilogue_rows(struct kernels *k, const struct epilogue *op, const int32_t *rows, int64_t count,
                       const uint8_t *has_halo) {
  const struct epilogue_rows of = {*op, rows, count, has_halo, k->scalars, {}, lanes_hold(op->z.cols)};
  if (count == 0 || op->z.cols == 0) return OK;
  return op->z.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of);
}

int cuda_epilogue(struct kernels *k, const struct epilogue *op) {
  return cuda_epilogue_rows(k, op, NULL, op->z.rows, NULL);
}
