/* How many rows have their largest logit (the lowest of equal ones) at their label. Whole numbers may be
 * added in any order. */
#include <algorithm>

#include "kernels/cuda/common/totals.cuh"
#include "kernels/cuda/loss/loss_ops.h"

constexpr int LANES = 8; /* of a row */

/* The column of the largest of x[0 .. cols), by the row's lanes together; by whole warps. */
static __device__ __forceinline__ int largest(const float *x, int cols) {
  float most = -INFINITY;
  int at = INT_MAX;
#pragma unroll 8
  for (int j = (int)threadIdx.x; j < cols; j += LANES) {
    const float value = x[j];
    if (value > most || at == INT_MAX) most = value, at = j;
  }
#pragma unroll
  for (int o = 1; o < LANES; o *= 2) {
    const float other = __shfl_xor_sync(~0u, most, o);
    const int other_at = __shfl_xor_sync(~0u, at, o);
    if (other > most || (other == most && other_at < at)) most = other, at = other_at;
  }
  return at;
}

static __global__ void __launch_bounds__(BLOCK) accuracy_kernel(struct score op) {
  const int64_t step = (int64_t)gridDim.x * blockDim.y, behind = (int)threadIdx.y - first_row_of_warp();
  int64_t correct = 0;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.y + first_row_of_warp(); i < op.count; i += step) {
    const bool there = i + behind < op.count;
    const int row = op.rows[there ? i + behind : i];
    const int at = largest(row_of(op.logits, row), (int)op.logits.cols);
    correct += there && threadIdx.x == 0 && at == op.label[row];
  }
  correct = sum_of_block(correct);
  if (threadIdx.x + threadIdx.y > 0) return;
  atomicAdd((unsigned long long *)op.out, (unsigned long long)correct);
  if (blockIdx.x == 0) op.out[1] = op.out[2] = op.count;
}

int cuda_accuracy(struct kernels *k, const struct score *op) {
  const dim3 block(LANES, BLOCK / LANES);
  const unsigned blocks = std::min(blocks_of(op->count, block.y), 1056u);
  TRY(device_clear(k->device, STREAM_COMPUTE, op->out, 3 * (int64_t)sizeof *op->out));
  if (op->count == 0) return OK;
  accuracy_kernel<<<blocks, block, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}
