/* How many rows have their largest logit (the lowest of equal ones) at their label. Whole numbers may be
 * added in any order. */
#include "kernels/cuda/totals.cuh"

static __global__ void __launch_bounds__(BLOCK) accuracy_kernel(struct score op) {
  int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  int64_t correct = 0;
  if (i < op.count) {
    const float *x = row_of(op.logits, op.rows[i]);
    int64_t best = 0;
    for (int64_t j = 1; j < op.logits.cols; j++) best = x[j] > x[best] ? j : best;
    correct = best == op.label[op.rows[i]];
  }
  correct = sum_of_block(correct);
  if (threadIdx.x > 0) return;
  atomicAdd((unsigned long long *)op.out, (unsigned long long)correct);
  if (blockIdx.x == 0) op.out[1] = op.out[2] = op.count;
}

int cuda_accuracy(struct kernels *k, const struct score *op) {
  TRY(device_clear(k->device, STREAM_COMPUTE, op->out, 3 * (int64_t)sizeof *op->out));
  if (op->count == 0) return OK;
  accuracy_kernel<<<blocks_of(op->count, BLOCK), BLOCK, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}
