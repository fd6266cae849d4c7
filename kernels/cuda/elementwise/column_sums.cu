/* out_j = sum_i x_ij / divisor_i. */
#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int BLOCKS = 3; /* on a multiprocessor */

struct column_sums_part {
  struct tensor x;
  const float *divisor;
  struct cut cut;
  double *partial;
};

template <class T, bool WHOLE, bool DIVIDES> struct sum_step {
  using input = struct summed_rows<T>;
  static constexpr int ROWS = input::ROWS;
  const struct column_sums_part &op;
  int end, n;
  int64_t first;
  struct column_totals<1> totals;

  __device__ __forceinline__ input read(int v) const {
    return read_summed_rows<T, WHOLE>(op.x, v, end, first, n);
  }

  /* While the next rows are on their way: for divisors of these, too, there are no registers. */
  __device__ __forceinline__ void read_divisors(int v, float (&divisor)[ROWS]) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const int row = v + r * (int)blockDim.y;
      divisor[r] = DIVIDES && row < end ? op.divisor[row] : 1;
    }
  }

  __device__ __forceinline__ void work(const input &in, int v) {
    float divisor[ROWS];
    read_divisors(v, divisor);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const float factor = __fdividef(1, divisor[r]);
      float x[GROUP];
      unpack(in.x[r], x);
#pragma unroll
      for (int j = 0; j < GROUP; j++) totals.sum[0][j] += DIVIDES ? x[j] * factor : x[j];
    }
    count_rows(totals, ROWS);
  }
};

template <class T, bool WHOLE, bool DIVIDES>
static __global__ void __launch_bounds__(BLOCK, BLOCKS)
    column_sums_kernel(const __grid_constant__ struct column_sums_part op) {
  pdl_launch_dependents();
  __shared__ double shared[GROUP * BLOCK];
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.x.rows);
  struct sum_step<T, WHOLE, DIVIDES> step = {
    op, end, columns_from(op.x.cols, first_column()), first_column(), {}
  };
  clear_totals(step.totals, shared);
  walk(step, begin, end);
  flush_totals(step.totals);
  __syncthreads();
  reduce_totals(step.totals, 0, op.x.cols, op.partial + blockIdx.x * op.x.cols);
}

template <class T, bool DIVIDES> static int launch(struct kernels *k, const struct column_sums_part *op) {
  auto *kernel = is_whole(op->x) ? column_sums_kernel<T, true, DIVIDES>
                                 : column_sums_kernel<T, false, DIVIDES>;
  kernel<<<grid_of(op->cut, op->x.cols), block_of(op->x.cols), 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

template <class T> static int launch_of(struct kernels *k, const struct column_sums_part *op) {
  return op->divisor ? launch<T, true>(k, op) : launch<T, false>(k, op);
}

int cuda_column_sums(struct kernels *k, const struct column_sums *op) {
  struct column_sums_part of = {op->x, (const float *)op->divisor, cut_rows(op->x.rows, BLOCKS), NULL};
  const int64_t parts = of.cut.parts, cols = op->x.cols;
  TRY(kernels_workspace(k, parts * cols * (int64_t)sizeof *of.partial, (void **)&of.partial));
  if (parts > 0 && cols > 0) TRY(op->x.dtype == BF16 ? launch_of<bf16>(k, &of) : launch_of<float>(k, &of));
  return cuda_add_partials(k, of.partial, parts, cols, (float *)op->out);
}
