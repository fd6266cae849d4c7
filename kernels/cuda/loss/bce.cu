/* -(t log s + (1 - t) log(1 - s)) with s = sigmoid(x) is max(x, 0) - x t + log(1 + exp(-|x|)); its gradient
 * is s - t. Mean over the classes. */
#include "kernels/cuda/loss/loss_ops.h"
#include "kernels/cuda/loss/loss_rows.cuh"

struct bce {
  static constexpr int BLOCKS = 4; /* on a multiprocessor */

  template <class T, bool FAST>
  static __device__ __forceinline__ double of(const struct loss_rows &op, const struct loss_columns &c) {
    const struct loss_op &loss = op.loss;
    const int classes = (int)loss.logits.cols, step = (int)blockDim.x * GROUP;
    const float share = op.scale * c.grad_scale / (float)classes;
    double sum = 0;
    for (int first = c.first; first < classes; first += step) {
      const int n = columns_from(classes, first);
      const uint8_t *label = loss.labels + (int64_t)c.row * classes + first;
      float x[GROUP], of_group = 0;
      if (FAST)
        unpack(c.logits, x);
      else if (c.row >= 0)
        load_group<float, FAST>(loss.logits, c.row, first, n, x);
#pragma unroll
      for (int j = 0; j < GROUP; j++) {
        const float t = j < n && c.row >= 0 ? (float)label[j] : 0, e = __expf(-fabsf(x[j])),
                    s = __fdividef(1, 1 + e);
        of_group += j < n ? fmaxf(x[j], 0) - x[j] * t + __logf(1 + e) : 0;
        x[j] = share * ((x[j] > 0 ? s : e * s) - t);
      }
      sum += (double)of_group;
      if (loss.grad.data && c.row >= 0) store_group<T, FAST>(loss.grad, c.row, first, FAST ? c.stored : n, x);
    }
    return sum / (double)classes;
  }
};

int cuda_bce(struct kernels *k, const struct loss_op *op) {
  return loss_over_rows<bce>(k, op);
}
