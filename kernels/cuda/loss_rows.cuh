/* What the two losses share: blocks of rows of the logits in which the listed rows (ascending) have a loss
 * and a gradient, and the others the gradient 0. The loss of a block is added up in the order of its rows,
 * and the blocks' losses in theirs. */
#ifndef KERNELS_CUDA_LOSS_ROWS_CUH
#define KERNELS_CUDA_LOSS_ROWS_CUH

#include "kernels/cuda/columns.cuh"

constexpr int LOSS_ROWS = 64; /* rows of a block */

struct loss_rows {
  struct loss_op loss;
  double *partial; /* [blocks] */
};

/* Position in the ascending list of the first row >= v. */
static __device__ __forceinline__ int64_t position(const struct loss_op &op, int64_t v) {
  int64_t low = 0, high = op.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (op.rows[middle] >= v)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* is_listed[i] = whether row first + i counts; by the whole block. */
static __device__ __forceinline__ void find_listed(const struct loss_op &op, int64_t first,
                                                   uint8_t *is_listed) {
  __shared__ int64_t begin;
  const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);
  if (thread == 0) begin = position(op, first);
  if (thread < LOSS_ROWS) is_listed[thread] = 0;
  __syncthreads();
  if (thread < LOSS_ROWS && begin + thread < op.count) {
    int64_t row = op.rows[begin + thread];
    if (row < first + LOSS_ROWS) is_listed[row - first] = 1;
  }
  __syncthreads();
}

/* LOSS::of(op, v, grad): loss of row v before op.scale, by the lanes of the row together and the same in
 * each; writes the row's gradient to `grad` unless that is NULL (it may be the logits). */
template <class LOSS, class T>
static __global__ void __launch_bounds__(BLOCK) loss_kernel(const __grid_constant__ struct loss_rows op) {
  __shared__ uint8_t is_listed[LOSS_ROWS];
  __shared__ double sum[LOSS_ROWS];
  const struct loss_op &loss = op.loss;
  const int64_t first = (int64_t)blockIdx.x * LOSS_ROWS, classes = loss.logits.cols;
  find_listed(loss, first, is_listed);
  for (int i = (int)threadIdx.y; i < LOSS_ROWS; i += (int)blockDim.y) {
    T *grad = loss.grad.data ? row_of<T>(loss.grad, first + i) : NULL;
    double mine = 0;
    if (is_listed[i])
      mine = LOSS::of(loss, first + i, grad);
    else if (grad && first + i < loss.logits.rows)
      for (int64_t j = threadIdx.x; j < classes; j += blockDim.x) grad[j] = (T)0.0f;
    if (threadIdx.x == 0) sum[i] = mine;
  }
  __syncthreads();
  if (threadIdx.x + threadIdx.y > 0) return;
  double total = 0;
  for (int i = 0; i < LOSS_ROWS; i++) total += sum[i];
  op.partial[blockIdx.x] = total;
}

/* *loss = scale * sum over p < parts of partial[p]. */
int cuda_add_losses(struct kernels *k, const double *partial, int64_t parts, double scale, double *loss);

template <class LOSS> static int loss_over_rows(struct kernels *k, const struct loss_op *op) {
  int64_t parts = (op->logits.rows + LOSS_ROWS - 1) / LOSS_ROWS;
  struct loss_rows of = {*op, NULL};
  TRY(kernels_workspace(k, parts * (int64_t)sizeof *of.partial, (void **)&of.partial));
  unsigned lanes = 1;
  while (lanes < 32 && (int64_t)lanes * 4 < op->logits.cols) lanes *= 2;
  if (parts > 0) {
    auto *kernel = op->grad.dtype == BF16 ? loss_kernel<LOSS, bf16> : loss_kernel<LOSS, float>;
    kernel<<<(unsigned)parts, dim3(lanes, BLOCK / lanes), 0, cuda_stream(k)>>>(of);
    TRY_LAUNCH();
  }
  return cuda_add_losses(k, of.partial, parts, op->scale, op->loss);
}

#endif
