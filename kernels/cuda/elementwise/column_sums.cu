/* out_j = sum_i x_ij. */
#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int BLOCKS = 3; /* on a multiprocessor */

struct column_sums_part {
  struct tensor x;
  struct cut cut;
  double *partial;
};

template <class T, bool WHOLE> struct sum_step {
  using input = struct summed_rows<T>;
  static constexpr int ROWS = input::ROWS;
  const struct column_sums_part &op;
  int end, n;
  int64_t first;
  struct column_totals<1> totals;

  __device__ __forceinline__ input read(int v) const {
    return read_summed_rows<T, WHOLE>(op.x, v, end, first, n);
  }

  __device__ __forceinline__ void work(const input &in, int) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      float x[GROUP];
      unpack(in.x[r], x);
#pragma unroll
      for (int j = 0; j < GROUP; j++) totals.sum[0][j] += x[j];
    }
    count_rows(totals, ROWS);
  }
};

template <class T, bool WHOLE>
static __global__ void __launch_bounds__(BLOCK, BLOCKS)
    column_sums_kernel(const __grid_constant__ struct column_sums_part op) {
  pdl_launch_dependents();
  __shared__ double shared[GROUP * BLOCK];
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.x.rows);
  struct sum_step<T, WHOLE> step = {
    op, end, columns_from(op.x.cols, first_column()), first_column(), {}
  };
  clear_totals(step.totals, shared);
  walk(step, begin, end);
  flush_totals(step.totals);
  __syncthreads();
  reduce_totals(step.totals, 0, op.x.cols, op.partial + blockIdx.x * op.x.cols);
}

template <class T> static int launch(struct kernels *k, const struct column_sums_part *op) {
  auto *kernel = is_whole(op->x) ? column_sums_kernel<T, true> : column_sums_kernel<T, false>;
  kernel<<<grid_of(op->cut, op->x.cols), block_of(op->x.cols), 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

int cuda_column_sums(struct kernels *k, const struct column_sums *op) {
  struct column_sums_part of = {op->x, cut_rows(op->x.rows, BLOCKS), NULL};
  const int64_t parts = of.cut.parts, cols = op->x.cols;
  TRY(kernels_workspace(k, parts * cols * (int64_t)sizeof *of.partial, (void **)&of.partial));
  if (parts > 0 && cols > 0) TRY(op->x.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of));
  return cuda_add_partials(k, of.partial, parts, cols, (float *)op->out);
}
