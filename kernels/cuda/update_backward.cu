/* dz from dy, and the gradients of shift, gain and bias; see struct update_backward. With g = dn gain, layer
 * norm gives dz = rstd (g - mean(g) - xhat mean(g xhat)), the means over the row: a first kernel leaves them.
 *
 * Threads walk down the rows of a block in their eight columns, so that column sums stay in registers. */
#include "kernels/cuda/partials.cuh"
#include "kernels/cuda/update_row.cuh"

struct backward {
  struct update forward;
  struct tensor dy, dz, residual_grad;
  const struct scalars *scalars;
  float2 *means;   /* [rows] of g and of g xhat; layer norm */
  double *partial; /* [sums, parts, cols]: bias, then shift and gain when there is a norm */
  int64_t part_rows, parts;
  bool aligned;
  bool from_y;        /* the forward pass kept y in place of z */
  bool reads, writes; /* whether z is needed, and dz differs from dy */
};

/* dy <- dropout'(dy). After a ReLU whose output was kept, a dropped element reads as 0 and needs no mask. */
static __device__ __forceinline__ void drop_gradient(const struct backward &op, uint32_t epoch, int64_t v,
                                                     int64_t first, float (&d)[GROUP]) {
  const struct dropout &dropout = op.forward.dropout;
  if (dropout.threshold == 0) return;
  if (op.from_y && op.forward.activation == ACTIVATION_RELU) {
#pragma unroll
    for (int j = 0; j < GROUP; j++) d[j] *= dropout.scale;
  } else {
    drop(dropout, epoch, v, first, d);
  }
}

/* d *= act'(n). */
static __device__ __forceinline__ void activate_backward(enum activation activation, const float (&n)[GROUP],
                                                         float (&d)[GROUP]) {
  if (activation == ACTIVATION_NONE) return;
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    float slope = activation == ACTIVATION_RELU ? 0 : LEAKY_SLOPE;
    if (activation == ACTIVATION_ELU) slope = n[j] > 0 ? 1 : expf(n[j]);
    if (!(n[j] > 0)) d[j] = activation == ACTIVATION_RELU ? 0 : d[j] * slope;
  }
}

/* The same from y = act(n) times the dropout's scale: y has n's sign, and for ELU exp(n) = act(n) + 1. Where
 * y was dropped d is 0 already. */
static __device__ __forceinline__ void activate_backward_from_y(const struct update &forward,
                                                                const float (&y)[GROUP], float (&d)[GROUP]) {
  if (forward.activation != ACTIVATION_ELU) {
    activate_backward(forward.activation, y, d);
    return;
  }
  float unscale = forward.dropout.threshold > 0 ? 1 / forward.dropout.scale : 1;
#pragma unroll
  for (int j = 0; j < GROUP; j++) d[j] = y[j] > 0 ? d[j] : d[j] * (y[j] * unscale + 1);
}

/* d = dn and xhat of one group of columns. xhat is set when there is a norm. */
template <class T, bool NORM>
static __device__ __forceinline__ void gradient_of_norm(const struct backward &op, uint32_t epoch, int64_t v,
                                                        int64_t first, int n, bool keep_residual,
                                                        float (&d)[GROUP], float (&xhat)[GROUP]) {
  const struct update &forward = op.forward;
  float saved[GROUP];
  load(row_of<T>(op.dy, v) + first, n, op.aligned, d);
  if (op.reads) load(row_of<T>(forward.z, v) + first, n, op.aligned, saved);
  drop_gradient(op, epoch, v, first, d);
  if (keep_residual && op.residual_grad.data) store(row_of<T>(op.residual_grad, v) + first, n, op.aligned, d);
  if (!op.reads) return;
  if (op.from_y) {
    activate_backward_from_y(forward, saved, d);
    return;
  }
  add_bias(forward, first, n, saved);
  if (NORM) {
    standardize(forward, v, first, n, saved);
#pragma unroll
    for (int j = 0; j < GROUP; j++) xhat[j] = saved[j];
    gain_and_shift(forward, first, n, saved);
  }
  activate_backward(forward.activation, saved, d);
}

/* means[v] = mean(g), mean(g xhat) over row v, by its lanes together. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    layer_means_kernel(const __grid_constant__ struct backward op) {
  int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, cols = op.dz.cols;
  if (v >= op.dz.rows) return;
  uint32_t epoch = op.scalars->epoch;
  float d[GROUP], xhat[GROUP], sum = 0, sum_xhat = 0;
  for (int64_t first = threadIdx.x * GROUP; first < cols; first += blockDim.x * GROUP) {
    int n = (int)min((int64_t)GROUP, cols - first);
    gradient_of_norm<T, true>(op, epoch, v, first, n, false, d, xhat);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      float g = j < n ? d[j] * gain_of(op.forward, first + j) : 0;
      sum += g;
      sum_xhat += j < n ? g * xhat[j] : 0;
    }
  }
  sum = sum_of_lanes(sum);
  sum_xhat = sum_of_lanes(sum_xhat);
  if (threadIdx.x == 0) op.means[v] = make_float2(sum / (float)cols, sum_xhat / (float)cols);
}

/* d = dn -> dz. */
static __device__ __forceinline__ void layer_norm_backward(const struct backward &op, int64_t v,
                                                           int64_t first, int n, const float (&xhat)[GROUP],
                                                           float (&d)[GROUP]) {
  float2 mean = op.means[v];
  float rstd = ((const float *)op.forward.rstd)[v];
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    if (j < n) d[j] = rstd * (d[j] * gain_of(op.forward, first + j) - mean.x - xhat[j] * mean.y);
  }
}

/* Sums of a thread's columns over its rows. */
template <bool NORM> struct column_totals {
  double bias[GROUP] = {0}, shift[NORM ? GROUP : 1] = {0}, gain[NORM ? GROUP : 1] = {0};
};

template <class T, bool NORM>
static __device__ __forceinline__ void backward_row(const struct backward &op, uint32_t epoch, int64_t v,
                                                    int64_t first, int n, struct column_totals<NORM> &sum) {
  float d[GROUP], xhat[GROUP];
  gradient_of_norm<T, NORM>(op, epoch, v, first, n, true, d, xhat);
  if constexpr (NORM) {
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      sum.shift[j] += (double)d[j];
      sum.gain[j] += j < n ? (double)(d[j] * xhat[j]) : 0;
    }
    if (op.forward.norm == NORM_LAYER) layer_norm_backward(op, v, first, n, xhat, d);
  }
#pragma unroll
  for (int j = 0; j < GROUP; j++) sum.bias[j] += (double)d[j];
  if (op.writes) store(row_of<T>(op.dz, v) + first, n, op.aligned, d);
}

template <class T, bool NORM>
static __global__ void __launch_bounds__(BLOCK)
    update_backward_kernel(const __grid_constant__ struct backward op) {
  __shared__ double shared[BLOCK];
  int64_t first = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * GROUP, cols = op.dz.cols;
  int64_t begin = blockIdx.x * op.part_rows, end = min(begin + op.part_rows, op.dz.rows);
  int n = (int)max((int64_t)0, min((int64_t)GROUP, cols - first));
  uint32_t epoch = op.scalars->epoch;
  struct column_totals<NORM> sum;
  for (int64_t v = begin + threadIdx.y; v < end && n > 0; v += blockDim.y)
    backward_row<T, NORM>(op, epoch, v, first, n, sum);
  if (!op.partial) return;
  double *partial = op.partial + blockIdx.x * cols;
  reduce_rows(sum.bias, shared, first, cols, partial);
  if constexpr (NORM) {
    reduce_rows(sum.shift, shared, first, cols, partial + op.parts * cols);
    reduce_rows(sum.gain, shared, first, cols, partial + 2 * op.parts * cols);
  }
}

template <class T> static int launch(struct kernels *k, const struct backward *op) {
  bool norm = op->forward.norm != NORM_NONE;
  dim3 block = block_of(op->dz.cols);
  if (op->parts == 0 || op->dz.cols == 0) return OK;
  if (op->forward.norm == NORM_LAYER) {
    layer_means_kernel<T><<<blocks_of(op->dz.rows, block.y), block, 0, cuda_stream(k)>>>(*op);
    TRY_LAUNCH();
  }
  dim3 grid((unsigned)op->parts, blocks_of(op->dz.cols, (int64_t)block.x * GROUP));
  auto *kernel = norm ? update_backward_kernel<T, true> : update_backward_kernel<T, false>;
  kernel<<<grid, block, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

/* Room for the sums that are wanted and, with a layer norm, for the rows' means behind them. */
static int take_workspace(struct kernels *k, const struct update_backward *op, struct backward *to) {
  bool sums = op->bias_grad || op->shift_grad || op->gain_grad, layer = to->forward.norm == NORM_LAYER;
  int64_t count = sums ? (to->forward.norm == NORM_NONE ? 1 : 3) * to->parts * to->dz.cols : 0;
  int64_t bytes = count * (int64_t)sizeof(double);
  char *workspace = NULL;
  TRY(kernels_workspace(k, bytes + (layer ? to->dz.rows * (int64_t)sizeof(float2) : 0), (void **)&workspace));
  if (sums) to->partial = (double *)workspace;
  if (layer) to->means = (float2 *)(workspace + bytes);
  return OK;
}

static int add_sums(struct kernels *k, const struct update_backward *op, const struct backward *from) {
  int64_t parts = from->parts, cols = from->dz.cols, norm = from->forward.norm != NORM_NONE;
  const double *bias = from->partial, *shift = bias + norm * parts * cols, *gain = bias + 2 * parts * cols;
  if (op->bias_grad) TRY(cuda_add_partials(k, bias, parts, cols, (float *)op->bias_grad));
  if (op->shift_grad) TRY(cuda_add_partials(k, shift, parts, cols, (float *)op->shift_grad));
  if (op->gain_grad && norm) TRY(cuda_add_partials(k, gain, parts, cols, (float *)op->gain_grad));
  return OK;
}

/* forward.z, where it is not read, need not lie well. */
static bool is_aligned(const struct update_backward *op, bool reads) {
  return cuda_is_aligned(op->dy) && cuda_is_aligned(op->dz) && (!reads || cuda_is_aligned(op->forward->z)) &&
         (!op->residual_grad.data || cuda_is_aligned(op->residual_grad));
}

int cuda_update_backward(struct kernels *k, const struct update_backward *op) {
  struct backward of = {};
  of.forward = *op->forward;
  of.dy = op->dy;
  of.dz = op->dz;
  of.residual_grad = op->residual_grad;
  of.scalars = k->scalars;
  of.part_rows = rows_of_part(op->dz.rows);
  of.parts = parts_of(op->dz.rows);
  of.from_y = op->forward->y.data == op->forward->z.data;
  of.reads = of.forward.norm != NORM_NONE || of.forward.activation != ACTIVATION_NONE;
  of.writes = of.reads || of.forward.dropout.threshold > 0 || op->dz.data != op->dy.data;
  of.aligned = is_aligned(op, of.reads);
  TRY(take_workspace(k, op, &of));
  if (of.writes || of.partial || of.residual_grad.data)
    TRY(op->dz.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of));
  return add_sums(k, op, &of);
}
