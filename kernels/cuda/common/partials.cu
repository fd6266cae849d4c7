/* out_j = sum_p partial_pj, in an order that depends on the number of parts alone. */
#include "kernels/cuda/common/partials.cuh"

constexpr int COLS = 8, ROWS = 128; /* of a block of threads */

static __global__ void __launch_bounds__(COLS *ROWS)
    add_partials_kernel(const double *partial, int64_t parts, int64_t cols, struct tensor out, float *other) {
  pdl_prologue();
  __shared__ double shared[ROWS][COLS];
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  double sum = 0;
#pragma unroll 8
  for (int64_t p = threadIdx.y; p < parts; p += ROWS) sum += col < cols ? partial[p * cols + col] : 0;
  shared[threadIdx.y][threadIdx.x] = sum;
  for (unsigned half = ROWS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) shared[threadIdx.y][threadIdx.x] += shared[threadIdx.y + half][threadIdx.x];
  }
  if (threadIdx.y > 0 || col >= cols) return;
  const int64_t own = out.rows * out.cols;
  float *to = col < own ? place_of<float>(out, col / out.cols, col % out.cols) : other + (col - own);
  *to = (float)shared[0][threadIdx.x];
}

/* other: where columns behind those of `out` go. */
static int add_partials(struct kernels *k, const double *partial, int64_t parts, int64_t cols,
                        struct tensor out, float *other) {
  if (cols == 0) return OK;
  return pdl_launch(k, add_partials_kernel, blocks_of(cols, COLS), dim3(COLS, ROWS), 0, partial, parts, cols,
                    out, other);
}

int cuda_add_partials_to(struct kernels *k, const double *partial, int64_t parts, struct tensor out) {
  return add_partials(k, partial, parts, out.rows * out.cols, out, NULL);
}

int cuda_add_pairs(struct kernels *k, const double *partial, int64_t parts, int64_t cols,
                   float *const out[2]) {
  return add_partials(k, partial, parts, 2 * cols, tensor_of(out[0], F32, 1, cols), out[1]);
}

int cuda_add_partials(struct kernels *k, const double *partial, int64_t parts, int64_t cols, float *out) {
  return cuda_add_partials_to(k, partial, parts, tensor_of(out, F32, 1, cols));
}
