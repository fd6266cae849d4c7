/* -log softmax(x)_label = log sum_j exp(x_j - max) + max - x_label; its gradient is softmax(x) - one hot. */
#include "kernels/cuda/elementwise/epilogue.h"
#include "kernels/cuda/loss/loss_ops.h"
#include "kernels/cuda/loss/loss_rows.cuh"

struct cross_entropy {
  static constexpr int BLOCKS = 5; /* on a multiprocessor */

  /* The eight logits from `first` on, n of them there: read, or as they have come; the others can be no
   * smaller. */
  template <bool FAST>
  static __device__ __forceinline__ void logits_of(const struct loss_op &op, const struct loss_columns &c,
                                                   int first, int n, float (&x)[GROUP]) {
    if (FAST)
      unpack(c.logits, x);
    else if (c.row >= 0)
      load_group<float, FAST>(op.logits, c.row, first, n, x);
    if (n == GROUP) return;
#pragma unroll
    for (int j = 0; j < GROUP; j++) x[j] = j < n ? x[j] : -INFINITY;
  }

  template <class T, bool FAST>
  static __device__ __forceinline__ double of(const struct loss_rows &op, const struct loss_columns &c) {
    const struct loss_op &loss = op.loss;
    const int classes = (int)loss.logits.cols, step = (int)blockDim.x * GROUP;
    float x[GROUP], max = -INFINITY, sum = 0, at_label = 0;
    for (int first = c.first; first == c.first || (!FAST && first < classes); first += step) {
      logits_of<FAST>(loss, c, first, FAST ? c.n : columns_from(classes, first), x);
#pragma unroll
      for (int j = 0; j < GROUP; j++) max = fmaxf(max, x[j]);
    }
    max = max_of_lanes(max);
    for (int first = c.first; first == c.first || (!FAST && first < classes); first += step) {
      if (!FAST) logits_of<FAST>(loss, c, first, columns_from(classes, first), x);
#pragma unroll
      for (int j = 0; j < GROUP; j++) {
        at_label = first + j == c.label ? x[j] : at_label;
        x[j] = exponential(x[j] - max);
        sum += x[j];
      }
    }
    sum = sum_of_lanes(sum);
    const float scale = op.scale * c.grad_scale, share = __fdividef(scale, sum);
    for (int first = c.first; loss.grad.data && first < classes && (first == c.first || !FAST);
         first += step) {
      const int n = FAST ? c.n : columns_from(classes, first);
      if (!FAST) logits_of<FAST>(loss, c, first, n, x);
#pragma unroll
      for (int j = 0; j < GROUP; j++)
        x[j] = c.label < 0
                   ? 0
                   : (FAST ? x[j] : exponential(x[j] - max)) * share - (first + j == c.label ? scale : 0);
      if (c.row >= 0) store_group<T, FAST>(loss.grad, c.row, first, FAST ? c.stored : n, x);
    }
    return (threadIdx.x == 0 ? (double)(__logf(sum) + max) : 0) - (double)at_label;
  }
};

int cuda_cross_entropy(struct kernels *k, const struct loss_op *op) {
  return loss_over_rows<cross_entropy>(k, op);
}

int cuda_cross_entropy_rows(struct kernels *k, const struct loss_op *op, const int32_t *rows, int64_t count,
                            const uint8_t *has_halo) {
  struct loss_rows of = {*op,  (float)op->scale, rows == NULL,         cut_rows(count, cross_entropy::BLOCKS),
                         NULL, has_halo,         (float *)op->row_loss};
  of.loss.rows = rows;
  of.loss.count = count;
  of.loss.label = op->counted;
  return op->grad.dtype == BF16 ? launch_loss<cross_entropy, bf16>(k, &of)
                                : launch_loss<cross_entropy, float>(k, &of);
}
