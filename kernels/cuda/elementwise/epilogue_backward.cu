/* dz from dy, and the gradients of shift, gain and bias; see struct epilogue_backward. With g = dn gain,
 * layer norm gives dz = rstd (g - mean(g) - xhat mean(g xhat)), the means over the row: by its lanes
 * together, or where these do not hold all columns, from a kernel before. */
#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"
#include "kernels/cuda/elementwise/epilogue_backward_row.cuh"

/* Blocks of a kernel on a multiprocessor. */
template <class T, saved_values SAVED> constexpr int BLOCKS = SAVED == Z_OF_NORM ? 2 : sizeof(T) == 2 ? 4 : 3;

enum { BIAS, SHIFT, GAIN }; /* the column sums; without a norm BIAS alone */

template <class T, saved_values SAVED, bool WHOLE> struct backward_step {
  static constexpr bool NORM = SAVED == Z_OF_NORM, READS = SAVED != NOTHING && SAVED != SIGNS;
  static constexpr int ROWS = 1, SUMS = NORM ? 3 : 1;
  struct input {
    packed<T> dy, saved;
    int64_t id;
    float scale;
    uint32_t signs;
  };
  const struct backward &op;
  uint32_t epoch;
  int end, n, stored;
  int64_t first;
  struct norm_columns columns;
  struct column_totals<SUMS> totals;

  __device__ __forceinline__ struct input read(int v) const {
    struct input in;
    in.dy = read_group<T, WHOLE>(op.dy, v < end, v, first, n);
    if (READS) in.saved = read_group<T, WHOLE>(op.forward.z, v < end, v, first, n);
    if (SAVED == SIGNS) in.signs = v < end && n > 0 ? row_of<uint8_t>(op.signs, v)[first / GROUP] : 0;
    in.id = op.masks && v < end ? op.forward.dropout.id[v] : 0;
    in.scale = scale_of(op.scale, v, v < end);
    return in;
  }

  /* dropout'(dy). */
  __device__ __forceinline__ void drop_gradient(const struct input &in, float (&d)[GROUP]) const {
    const struct dropout &dropout = op.forward.dropout;
    if (op.masks) {
      drop(dropout, epoch, in.id, first, d);
    } else if (dropout.threshold > 0) {
#pragma unroll
      for (int j = 0; j < GROUP; j++) d[j] *= dropout.scale;
    }
  }

  __device__ __forceinline__ void add(int sum, const float (&x)[GROUP]) {
#pragma unroll
    for (int j = 0; j < GROUP; j++) totals.sum[sum][j] += x[j];
  }

  /* d = dn -> dz, adding up the sums in between. */
  __device__ __forceinline__ void norm_gradient(int v, const float (&xhat)[GROUP], float (&d)[GROUP]) {
    float product[GROUP];
#pragma unroll
    for (int j = 0; j < GROUP; j++) product[j] = d[j] * xhat[j];
    add(SHIFT, d);
    add(GAIN, product);
    if (op.forward.norm == NORM_LAYER) layer_norm_backward(op, v, n, columns, xhat, d);
  }

  __device__ __forceinline__ void work(const struct input &in, int v) {
    const bool stores = v < end && n > 0;
    float d[GROUP], saved[GROUP];
    unpack(in.dy, d);
    drop_gradient(in, d);
    if (op.residual_grad.data && stores)
      store_group<T, WHOLE>(op.residual_grad, v, first, stored_columns(op.residual_grad, first), d);
    if constexpr (SAVED == SIGNS) {
#pragma unroll
      for (int j = 0; j < GROUP; j++) d[j] = in.signs >> j & 1 ? d[j] : 0;
    } else if constexpr (SAVED != NOTHING) {
      unpack(in.saved, saved);
      activation_backward<SAVED>(op.forward, v, columns, saved, d);
    }
    if constexpr (NORM) norm_gradient(v, saved, d);
    if (op.partial) {
      add(BIAS, d);
      count_rows(totals, ROWS);
    }
    if (op.scale) multiply_by(in.scale, d);
    if (stores) store_group<T, WHOLE>(op.dz, v, first, stored, d);
  }
};

template <class T, saved_values SAVED, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK, (BLOCKS<T, SAVED>))
    epilogue_backward_kernel(const __grid_constant__ struct backward op) {
  typedef backward_step<T, SAVED, WHOLE> step_of;
  __shared__ double shared[step_of::SUMS * GROUP * BLOCK];
  const int64_t cols = op.dz.cols, first = first_column();
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.dz.rows);
  step_of step = {
      op, op.scalars->epoch, end, columns_from(cols, first), stored_columns(op.dz, first), first, {}, {}};
  if (SAVED == Z || SAVED == Z_OF_NORM) load_norm<step_of::NORM>(op.forward, first, step.n, step.columns);
  if (op.partial) clear_totals(step.totals, shared);
  walk(step, begin, end);
  if (!op.partial) return;
  flush_totals(step.totals);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < step_of::SUMS; i++)
    reduce_totals(step.totals, i, cols, op.partial + (i * op.cut.parts + blockIdx.x) * cols);
}

static saved_values saved_by(const struct epilogue_backward *op) {
  if (op->forward->norm != NORM_NONE) return Z_OF_NORM;
  if (op->forward->activation == ACTIVATION_NONE) return NOTHING;
  if (op->signs.data) return SIGNS;
  return op->forward->y.data == op->forward->z.data ? Y : Z;
}

/* Room for the sums that are wanted and behind them for the means of rows longer than a block's lanes. */
static int take_workspace(struct kernels *k, const struct epilogue_backward *op, struct backward *to) {
  const bool sums = op->bias_grad || op->shift_grad || op->gain_grad;
  const bool means = to->forward.norm == NORM_LAYER && !lanes_hold(to->dz.cols);
  const int64_t count = sums ? (to->forward.norm == NORM_NONE ? 1 : 3) * to->cut.parts * to->dz.cols : 0;
  const int64_t bytes = count * (int64_t)sizeof(double);
  char *workspace = NULL;
  TRY(kernels_workspace(k, bytes + (means ? to->dz.rows * (int64_t)sizeof(float2) : 0), (void **)&workspace));
  if (sums) to->partial = (double *)workspace;
  if (means) to->means = (float2 *)(workspace + bytes);
  return OK;
}

static int add_sums(struct kernels *k, const struct epilogue_backward *op, const struct backward *from) {
  const int64_t parts = from->cut.parts, cols = from->dz.cols, step = parts * cols;
  const bool norm = from->forward.norm != NORM_NONE;
  const double *bias = from->partial, *shift = norm ? bias + SHIFT * step : bias;
  if (op->bias_grad) TRY(cuda_add_partials(k, bias, parts, cols, (float *)op->bias_grad));
  if (op->shift_grad) TRY(cuda_add_partials(k, shift, parts, cols, (float *)op->shift_grad));
  if (op->gain_grad && norm)
    TRY(cuda_add_partials(k, bias + GAIN * step, parts, cols, (float *)op->gain_grad));
  return OK;
}

template <class T, saved_values SAVED>
static int run(struct kernels *k, const struct epilogue_backward *op, struct backward *of) {
  const bool whole = is_whole(of->dy) && is_whole(of->dz) && is_whole_or_absent(of->residual_grad) &&
                     (SAVED == NOTHING || SAVED == SIGNS || is_whole(of->forward.z));
  const dim3 block = block_of(of->dz.cols);
  of->cut = cut_rows(of->dz.rows, BLOCKS<T, SAVED>);
  TRY(take_workspace(k, op, of));
  if (of->cut.parts > 0 && of->means) {
    layer_means_kernel<T><<<blocks_of(of->dz.rows, block.y), block, 0, cuda_stream(k)>>>(*of);
    TRY_LAUNCH();
  }
  auto *kernel = whole ? epilogue_backward_kernel<T, SAVED, true> : epilogue_backward_kernel<T, SAVED, false>;
  if (of->cut.parts > 0 && of->dz.cols > 0) {
    kernel<<<grid_of(of->cut, of->dz.cols), block, 0, cuda_stream(k)>>>(*of);
    TRY_LAUNCH();
  }
  return add_sums(k, op, of);
}

template <class T>
static int run_with(struct kernels *k, const struct epilogue_backward *op, struct backward *of) {
  switch (saved_by(op)) {
  case NOTHING:
    return run<T, NOTHING>(k, op, of);
  case Y:
    return run<T, Y>(k, op, of);
  case SIGNS:
    return run<T, SIGNS>(k, op, of);
  case Z:
    return run<T, Z>(k, op, of);
  default:
    return run<T, Z_OF_NORM>(k, op, of);
  }
}

/* dz is dy already: what is wanted are its sums. */
static int sum_gradient(struct kernels *k, const struct epilogue_backward *op) {
  const struct column_sums bias = {op->dz, NULL, op->bias_grad}, shift = {op->dz, NULL, op->shift_grad};
  if (op->bias_grad) TRY(cuda_column_sums(k, &bias));
  return op->shift_grad ? cuda_column_sums(k, &shift) : OK;
}

int cuda_epilogue_backward(struct kernels *k, const struct epilogue_backward *op) {
  const saved_values saved = saved_by(op);
  const bool drops = op->forward->dropout.threshold > 0;
  struct backward of = {};
  if (saved == NOTHING && !drops && op->dz.data == op->dy.data && !op->residual_grad.data && !op->scale)
    return sum_gradient(k, op);
  of.forward = *op->forward;
  of.dy = op->dy;
  of.dz = op->dz;
  of.residual_grad = op->residual_grad;
  of.signs = op->signs;
  of.scale = op->scale;
  of.scalars = k->scalars;
  of.masks = drops && saved != SIGNS && !(saved == Y && of.forward.activation == ACTIVATION_RELU);
  return op->dz.dtype == BF16 ? run_with<bf16>(k, op, &of) : run_with<float>(k, op, &of);
}
