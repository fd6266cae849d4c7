/* True positives, positives predicted (logit > 0) and positives, over all classes. Whole numbers may be added
 * in any order. */
#include <algorithm>

#include "kernels/cuda/common/totals.cuh"
#include "kernels/cuda/loss/loss_ops.h"

static __global__ void __launch_bounds__(BLOCK) micro_f1_kernel(struct score op) {
  int64_t classes = op.logits.cols, count[3] = {0, 0, 0};
  for (int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y; i < op.count;
       i += (int64_t)gridDim.x * blockDim.y) {
    int64_t v = op.rows[i];
    for (int64_t j = threadIdx.x; j < classes; j += blockDim.x) {
      int positive = row_of(op.logits, v)[j] > 0, label = op.labels[v * classes + j];
      count[0] += positive && label;
      count[1] += positive;
      count[2] += label;
    }
  }
  for (int c = 0; c < 3; c++) {
    int64_t sum = sum_of_block(count[c]);
    if (threadIdx.x + threadIdx.y == 0) atomicAdd((unsigned long long *)op.out + c, (unsigned long long)sum);
  }
}

int cuda_micro_f1(struct kernels *k, const struct score *op) {
  const dim3 block(32, BLOCK / 32);
  const unsigned blocks = std::min(blocks_of(op->count, block.y), 1056u);
  TRY(device_clear(k->device, STREAM_COMPUTE, op->out, 3 * (int64_t)sizeof *op->out));
  if (op->count == 0) return OK;
  micro_f1_kernel<<<blocks, block, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}
