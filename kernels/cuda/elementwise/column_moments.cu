/* sum_j = sum_i x_ij; squares_j = sum_i (x_ij - sum_j / rows)^2; see struct column_moments. */
#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int BLOCKS = 2; /* on a multiprocessor */

struct column_moments_part {
  struct tensor x;
  struct cut cut;
  double *partial; /* [parts, 2, cols]: sums of x - shift, and of its squares */
};

template <class T, bool WHOLE> struct moment_step {
  using input = struct summed_rows<T>;
  static constexpr int ROWS = input::ROWS;
  const struct column_moments_part &op;
  int end, n;
  int64_t first;
  float shift[GROUP];
  struct column_totals<2> totals;

  __device__ __forceinline__ input read(int v) const {
    return read_summed_rows<T, WHOLE>(op.x, v, end, first, n);
  }

  __device__ __forceinline__ void work(const input &in, int v) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const bool there = v + r * (int)blockDim.y < end;
      float x[GROUP];
      unpack(in.x[r], x);
#pragma unroll
      for (int j = 0; j < GROUP; j++) {
        const float difference = there ? x[j] - shift[j] : 0;
        totals.sum[0][j] += difference;
        totals.sum[1][j] += difference * difference;
      }
    }
    count_rows(totals, ROWS);
  }
};

template <class T, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK, BLOCKS)
    column_moments_kernel(const __grid_constant__ struct column_moments_part op) {
  pdl_launch_dependents();
  __shared__ double shared[2 * GROUP * BLOCK];
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.x.rows);
  struct moment_step<T, WHOLE> step = {
    op, end, columns_from(op.x.cols, first_column()), first_column(), {}, {}
  };
  unpack(read_group<T, WHOLE>(op.x, true, 0, step.first, step.n), step.shift);
  clear_totals(step.totals, shared);
  walk(step, begin, end);
  flush_totals(step.totals);
  __syncthreads();
#pragma unroll
  for (int s = 0; s < 2; s++)
    reduce_totals(step.totals, s, op.x.cols, op.partial + (2 * (int64_t)blockIdx.x + s) * op.x.cols);
}

constexpr int COLS = 8, ROWS = 64; /* of a block of threads that adds up parts */

struct end_moments {
  const double *partial; /* as above */
  int64_t rows, cols, parts;
  struct tensor near; /* its first row is what was taken off */
  float *sum, *squares;
};

template <class T>
static __global__ void __launch_bounds__(COLS *ROWS) end_moments_kernel(struct end_moments of) {
  pdl_prologue();
  __shared__ double shared[2][ROWS][COLS];
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x, cols = of.cols;
  const bool there = col < cols;
#pragma unroll
  for (int s = 0; s < 2; s++) {
    double total = 0;
#pragma unroll 4
    for (int64_t p = threadIdx.y; p < of.parts; p += ROWS)
      total += there ? of.partial[(2 * p + s) * cols + col] : 0;
    shared[s][threadIdx.y][threadIdx.x] = total;
  }
  for (unsigned half = ROWS / 2; half > 0; half /= 2) {
    __syncthreads();
    for (int s = 0; s < 2 && threadIdx.y < half; s++)
      shared[s][threadIdx.y][threadIdx.x] += shared[s][threadIdx.y + half][threadIdx.x];
  }
  if (threadIdx.y > 0 || !there) return;
  const double rows = (double)of.rows, shifted = shared[0][0][threadIdx.x];
  const double shift = of.rows > 0 ? (double)(float)*place_of<T>(of.near, 0, col) : 0;
  of.sum[col] = (float)(shifted + rows * shift);
  of.squares[col] = of.rows > 0 ? (float)max(0.0, shared[1][0][threadIdx.x] - shifted * shifted / rows) : 0;
}

template <class T> static int end_moments_of(struct kernels *k, const struct end_moments *of) {
  return pdl_launch(k, end_moments_kernel<T>, blocks_of(of->cols, COLS), dim3(COLS, ROWS), 0, *of);
}

int cuda_end_moments(struct kernels *k, const struct column_moments *op, const double *partial, int64_t parts,
                     const float *near) {
  const int64_t cols = op->x.cols;
  const struct end_moments of = {
      partial,          op->x.rows,          cols, parts, tensor_of((void *)near, F32, 1, cols),
      (float *)op->sum, (float *)op->squares};
  return cols > 0 ? end_moments_of<float>(k, &of) : OK;
}

template <class T>
static int launch(struct kernels *k, const struct column_moments *op, const struct column_moments_part *of) {
  const int64_t cols = op->x.cols;
  if (of->cut.parts > 0) {
    auto *kernel = is_whole(op->x) ? column_moments_kernel<T, true> : column_moments_kernel<T, false>;
    kernel<<<grid_of(of->cut, cols), block_of(cols), 0, cuda_stream(k)>>>(*of);
    TRY_LAUNCH();
  }
  const struct end_moments end = {of->partial,      op->x.rows,          cols, of->cut.parts, op->x,
                                  (float *)op->sum, (float *)op->squares};
  return end_moments_of<T>(k, &end);
}

int cuda_column_moments(struct kernels *k, const struct column_moments *op) {
  struct column_moments_part of = {op->x, cut_rows(op->x.rows, BLOCKS), NULL};
  if (op->x.cols == 0) return OK;
  TRY(kernels_workspace(k, of.cut.parts * 2 * op->x.cols * (int64_t)sizeof *of.partial,
                        (void **)&of.partial));
  return op->x.dtype == BF16 ? launch<bf16>(k, op, &of) : launch<float>(k, op, &of);
}
