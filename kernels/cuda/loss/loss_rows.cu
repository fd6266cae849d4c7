/* What follows the losses of the listed rows: the gradient 0 for the others, and
 *   loss = scale sum_p partial_p, by one block, of blocks of rows or of blocks of losses. */
#include "kernels/cuda/loss/loss_ops.h"
#include "kernels/cuda/loss/loss_rows.cuh"

constexpr int ROWS = BLOCK; /* of a block: one for each thread to look up */

static __global__ void add_losses_kernel(const double *partial, int64_t parts, double scale, double *loss) {
  pdl_prologue();
  double sum = 0;
  for (int64_t p = threadIdx.x; p < parts; p += BLOCK) sum += partial[p];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *loss = scale * sum;
}

int cuda_add_losses(struct kernels *k, const double *partial, int64_t parts, double scale, double *loss) {
  return pdl_launch(k, add_losses_kernel, 1, BLOCK, 0, partial, parts, scale, loss);
}

/* A warp's lanes read neighbouring losses; a thread's are BLOCK apart. */
static __global__ void __launch_bounds__(BLOCK)
    sum_losses_kernel(const float *loss, int64_t rows, int64_t each, double *partial) {
  pdl_prologue();
  const int64_t begin = blockIdx.x * each, end = min(begin + each, rows);
  double sum = 0;
#pragma unroll 4
  for (int64_t v = begin + threadIdx.x; v < end; v += BLOCK) sum += (double)loss[v];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

int cuda_sum_losses(struct kernels *k, const struct loss_op *op) {
  const struct cut cut = cut_rows(op->logits.rows, 4);
  const float *loss = (const float *)op->row_loss;
  double *partial = NULL;
  TRY(kernels_workspace(k, cut.parts * (int64_t)sizeof *partial, (void **)&partial));
  if (cut.parts > 0)
    TRY(pdl_launch(k, sum_losses_kernel, (unsigned)cut.parts, BLOCK, 0, loss, op->logits.rows, cut.rows,
                   partial));
  return cuda_add_losses(k, partial, cut.parts, op->scale, op->loss);
}

/* place[b] = the first place in the list whose row is not before block b; by one thread a place, which sets
 * it for the blocks that begin between its row and the one before. */
static __global__ void __launch_bounds__(BLOCK)
    places_kernel(const int32_t *rows, int64_t count, int64_t blocks, int32_t *place) {
  pdl_prologue();
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i > count) return;
  const int64_t from = i > 0 ? rows[i - 1] / ROWS + 1 : 0, to = i < count ? rows[i] / ROWS : blocks;
  for (int64_t b = from; b <= to; b++) place[b] = (int32_t)i;
}

template <class T, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK)
    clear_unlisted_kernel(const struct tensor grad, const int32_t *rows, const int32_t *place) {
  pdl_prologue();
  __shared__ bool is_listed[ROWS];
  const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);
  const int64_t first = (int64_t)blockIdx.x * ROWS, end = min(first + ROWS, grad.rows);
  const int32_t at = place[blockIdx.x] + thread;
  const float zero[GROUP] = {0};
  is_listed[thread] = false;
  __syncthreads();
  if (at < place[blockIdx.x + 1]) is_listed[rows[at] - first] = true;
  __syncthreads();
  for (int64_t v = first + threadIdx.y; v < end; v += blockDim.y) {
    if (is_listed[v - first]) continue;
    for (int64_t j = threadIdx.x * GROUP; j < grad.cols; j += blockDim.x * GROUP)
      store_group<T, WHOLE>(grad, v, j, stored_columns(grad, j), zero);
  }
}

template <class T>
static int clear_unlisted(struct kernels *k, const struct loss_op *op, int64_t blocks, const int32_t *place) {
  auto *kernel = is_whole(op->grad) ? clear_unlisted_kernel<T, true> : clear_unlisted_kernel<T, false>;
  return pdl_launch(k, kernel, (unsigned)blocks, block_of(op->grad.cols), 0, op->grad, op->rows, place);
}

int64_t cuda_unlisted_places(int64_t rows) {
  return (rows + ROWS - 1) / ROWS + 1;
}

int cuda_clear_unlisted(struct kernels *k, const struct loss_op *op, int32_t *place) {
  const int64_t blocks = cuda_unlisted_places(op->grad.rows) - 1;
  if (blocks == 0) return OK;
  TRY(pdl_launch(k, places_kernel, blocks_of(op->count + 1, BLOCK), BLOCK, 0, op->rows, op->count, blocks,
                 place));
  return op->grad.dtype == BF16 ? clear_unlisted<bf16>(k, op, blocks, place)
                                : clear_unlisted<float>(k, op, blocks, place);
}
