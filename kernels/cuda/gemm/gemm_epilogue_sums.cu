/* Sums of columns that kernels gather in the epilogue of a product, and whether one below a batch norm is
 * better made twice. */
#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"

constexpr int COLS = 32, TERM_ROWS = 16;       /* of a block of threads */
constexpr int FEW_TERMS = 64, MOST_COLS = 256; /* of products that are made twice */

/* row = the first row of A, times B: what moments are taken around. */
template <class T>
static __global__ void __launch_bounds__(COLS *TERM_ROWS)
    first_row_kernel(struct tensor a, struct tensor b, float *row) {
  pdl_prologue();
  __shared__ float shared[TERM_ROWS][COLS];
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  float sum = 0;
#pragma unroll 8
  for (int64_t i = threadIdx.y; i < a.cols; i += TERM_ROWS)
    sum += col < b.cols ? (float)*place_of<T>(a, 0, i) * (float)*place_of<T>(b, i, col) : 0;
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || col >= b.cols) return;
  for (int i = 1; i < TERM_ROWS; i++) sum += shared[i][threadIdx.x];
  row[col] = sum;
}

static int find_first_row(struct kernels *k, const struct gemm *op, float *row) {
  auto *kernel = op->a.dtype == BF16 ? first_row_kernel<bf16> : first_row_kernel<float>;
  return pdl_launch(k, kernel, blocks_of(op->c.cols, COLS), dim3(COLS, TERM_ROWS), 0, op->a, op->b, row);
}

int cuda_gemm_takes_epilogue(const struct kernels *k, const struct gemm *op) {
  const struct epilogue *epilogue = op->backward ? op->backward->forward : op->epilogue;
  return (!epilogue || epilogue->norm == NORM_NONE) && gemm_epilogue_of(k, op).kind != EPILOGUE_APART;
}

int cuda_sums_wanted(const struct gemm *op, const struct gemm_epilogue *e) {
  return e->kind == EPILOGUE_BACKWARD_RELU && !op->backward->bias_grad ? 0 : sums_of(e->kind);
}

int cuda_sums_begin(struct kernels *k, const struct gemm *op, int64_t blocks, struct gemm_epilogue *e) {
  const int64_t cols = op->c.cols, count = blocks * sums_of(e->kind) * cols;
  TRY(kernels_workspace(k, count * (int64_t)sizeof *e->sums + cols * (int64_t)sizeof *e->bias,
                        (void **)&e->sums));
  if (e->kind != EPILOGUE_MOMENTS) return OK;
  float *row = (float *)(e->sums + count);
  e->bias = row;
  return find_first_row(k, op, row);
}

int cuda_sums_end(struct kernels *k, const struct gemm *op, int64_t blocks, const struct gemm_epilogue *e) {
  const int64_t cols = op->c.cols;
  if (e->kind == EPILOGUE_MOMENTS) return cuda_end_moments(k, op->moments, e->sums, blocks, e->bias);
  if (e->kind == EPILOGUE_BACKWARD_RELU)
    return cuda_add_partials(k, e->sums, blocks, cols, (float *)op->backward->bias_grad);
  float *const out[] = {(float *)op->backward->shift_grad, (float *)op->backward->gain_grad};
  return cuda_add_pairs(k, e->sums, blocks, cols, out);
}

/* Reading few terms of each row again costs less than dn, which is written and read. */
int cuda_gemm_repeats(const struct kernels *k, const struct gemm *op) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool pieces = k->precision == PRECISION_FP32 || k->precision == PRECISION_BF16;
  return state->has_wgmma && pieces && !op->a2.data && op->a.cols <= FEW_TERMS && cuda_is_aligned(op->a) &&
         cuda_is_aligned(op->b) && op->c.cols <= MOST_COLS &&
         gemm_epilogue_of(k, op).kind == EPILOGUE_NORM_SUMS;
}
