/* -log softmax(x)_label = log sum_j exp(x_j - max) + max - x_label; its gradient is softmax(x) - one hot. */
#include "kernels/cuda/loss_rows.cuh"

struct cross_entropy {
  template <class T> static __device__ double of(const struct loss_op &op, int64_t v, T *grad) {
    const float *x = row_of(op.logits, v);
    const int64_t classes = op.logits.cols, label = op.label[v];
    float max = -INFINITY, sum = 0, at_label = x[label];
    for (int64_t j = threadIdx.x; j < classes; j += blockDim.x) max = fmaxf(max, x[j]);
    max = max_of_lanes(max);
    for (int64_t j = threadIdx.x; j < classes; j += blockDim.x) sum += expf(x[j] - max);
    sum = sum_of_lanes(sum);
    if (grad) {
      float share = (float)(op.scale / (double)sum);
      __syncwarp(row_mask()); /* the gradient may replace logits that another lane still reads */
      for (int64_t j = threadIdx.x; j < classes; j += blockDim.x)
        grad[j] = (T)(expf(x[j] - max) * share - (j == label ? (float)op.scale : 0));
    }
    return (double)logf(sum) + (double)max - (double)at_label;
  }
};

int cuda_cross_entropy(struct kernels *k, const struct loss_op *op) {
  return loss_over_rows<cross_entropy>(k, op);
}
