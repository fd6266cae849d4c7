/* -(t log s + (1 - t) log(1 - s)) with s = sigmoid(x) is max(x, 0) - x t + log(1 + exp(-|x|)); its gradient
 * is s - t. Mean over the classes. */
#include "kernels/cuda/loss_rows.cuh"

struct bce {
  template <class T> static __device__ double of(const struct loss_op &op, int64_t v, T *grad) {
    const float *logits = row_of(op.logits, v);
    const int64_t classes = op.logits.cols;
    const uint8_t *label = op.labels + v * classes;
    const unsigned mask = row_mask();
    double sum = 0;
    for (int64_t j = threadIdx.x; j < classes; j += blockDim.x) {
      double x = (double)logits[j], e = exp(-fabs(x));
      sum += (x > 0 ? x : 0) - x * label[j] + log1p(e);
      if (grad) grad[j] = (T)(float)(op.scale / (double)classes * ((x > 0 ? 1 : e) / (1 + e) - label[j]));
    }
    for (unsigned o = 1; o < blockDim.x; o *= 2) sum += __shfl_xor_sync(mask, sum, o);
    return sum / (double)classes;
  }
};

int cuda_bce(struct kernels *k, const struct loss_op *op) {
  return loss_over_rows<bce>(k, op);
}
