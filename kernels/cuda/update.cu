/* y = dropout(act(norm(z + bias)) + residual); see struct update. */
#include "kernels/cuda/update.h"
#include "kernels/cuda/update_row.cuh"

struct update_rows {
  struct update update;
  const int32_t *rows;
  int64_t count;
  const uint8_t *unfinished;
  const struct scalars *scalars;
  bool aligned;
};

/* Columns of row v with the bias added. */
template <class T>
static __device__ __forceinline__ int load_biased(const struct update_rows &op, int64_t v, int64_t first,
                                                  float (&u)[GROUP]) {
  int n = (int)min((int64_t)GROUP, op.update.z.cols - first);
  load(row_of<T>(op.update.z, v) + first, n, op.aligned, u);
  add_bias(op.update, first, n, u);
  return n;
}

/* Mean and 1 / deviation over row v, by its lanes together. */
template <class T> static __device__ void layer_statistics(const struct update_rows &op, int64_t v) {
  const int64_t cols = op.update.z.cols;
  float u[GROUP], sum = 0, squares = 0;
  for (int64_t first = threadIdx.x * GROUP; first < cols; first += blockDim.x * GROUP) {
    int n = load_biased<T>(op, v, first, u);
    for (int j = 0; j < GROUP; j++) sum += j < n ? u[j] : 0;
  }
  float mean = sum_of_lanes(sum) / (float)cols;
  for (int64_t first = threadIdx.x * GROUP; first < cols; first += blockDim.x * GROUP) {
    int n = load_biased<T>(op, v, first, u);
    for (int j = 0; j < GROUP; j++) squares += j < n ? (u[j] - mean) * (u[j] - mean) : 0;
  }
  squares = sum_of_lanes(squares);
  ((float *)op.update.mean)[v] = mean;
  ((float *)op.update.rstd)[v] = 1 / sqrtf(squares / (float)cols + (float)op.update.epsilon);
}

template <class T>
static __device__ __forceinline__ void update_columns(const struct update_rows &op, uint32_t epoch, int64_t v,
                                                      int64_t first) {
  const struct update &update = op.update;
  float u[GROUP], residual[GROUP];
  int n = load_biased<T>(op, v, first, u);
  if (update.norm != NORM_NONE) {
    standardize(update, v, first, n, u);
    gain_and_shift(update, first, n, u);
  }
#pragma unroll
  for (int j = 0; j < GROUP; j++) u[j] = activated(update.activation, u[j]);
  if (update.residual.data) {
    load(row_of<T>(update.residual, v) + first, n, op.aligned, residual);
#pragma unroll
    for (int j = 0; j < GROUP; j++) u[j] += residual[j];
  }
  if (update.dropout.threshold > 0) drop(update.dropout, epoch, v, first, u);
  store(row_of<T>(update.y, v) + first, n, op.aligned, u);
}

template <class T>
static __global__ void __launch_bounds__(BLOCK) update_kernel(const __grid_constant__ struct update_rows op) {
  int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= op.count) return;
  int64_t v = op.rows ? op.rows[i] : i;
  if (op.unfinished && op.unfinished[v]) return;
  uint32_t epoch = op.scalars->epoch;
  if (op.update.norm == NORM_LAYER) layer_statistics<T>(op, v); /* each lane reads what it wrote itself */
  for (int64_t first = threadIdx.x * GROUP; first < op.update.z.cols; first += blockDim.x * GROUP)
    update_columns<T>(op, epoch, v, first);
}

int cuda_update_rows(struct kernels *k, const struct update *op, const int32_t *rows, int64_t count,
                     const uint8_t *unfinished) {
  if (count == 0 || op->z.cols == 0) return OK;
  struct update_rows of = {*op, rows, count, unfinished, k->scalars, false};
  of.aligned = cuda_is_aligned(op->z) && cuda_is_aligned(op->y) &&
               (!op->residual.data || cuda_is_aligned(op->residual));
  dim3 block = block_of(op->z.cols);
  auto *kernel = op->z.dtype == BF16 ? update_kernel<bf16> : update_kernel<float>;
  kernel<<<blocks_of(count, block.y), block, 0, cuda_stream(k)>>>(of);
  TRY_LAUNCH();
  return OK;
}

int cuda_update(struct kernels *k, const struct update *op) {
  return cuda_update_rows(k, op, NULL, op->z.rows, NULL);
}
