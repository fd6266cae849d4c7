/* loss: losses of logits, their gradients, and counts of correct predictions. */
#ifndef KERNELS_OPS_LOSS_H
#define KERNELS_OPS_LOSS_H

#include "kernels/ops/ops.h"

/* Mean of a masked loss and its gradient with respect to the logits.
 * Cross entropy: -log softmax(logits_v)[label_v]; multilabel (bce): mean over classes of
 * -(t log s + (1 - t) log(1 - s)), s = sigmoid. loss = scale * sum over `rows`.
 *
 * Cross entropy may come along with the op that makes the logits (struct epilogue): rows that finish there
 * leave row_loss and their gradient, their logits are open; op_sum_losses then writes `loss`. */
struct loss_op {
  struct tensor logits;  /* real [n, classes] */
  const int32_t *label;  /* [n]; cross entropy */
  const uint8_t *labels; /* [n, classes]; bce */
  const int32_t *rows;   /* [count] rows that count, ascending */
  int64_t count;
  double scale;           /* 1 / number of such rows on all ranks */
  double *loss;           /* on the device, written */
  const void *grad_scale; /* real [n], of the rows of grad; NULL: 1 */
  const int32_t *counted; /* [n] label of a row that counts, -1: it does not; for a loss that comes along */
  void *row_loss;         /* real [n] before scale; likewise */
  struct tensor grad; /* dtype [n, classes], 0 where not listed; data NULL: none. May be logits of its type */
};

/* Counts of correct predictions over `rows`. Multiclass: correct = argmax hits (ties to the lowest class),
 * predicted = actual = count. Multilabel at logit > 0: true positives, positives predicted, positives. */
struct score {
  struct tensor logits; /* real */
  const int32_t *label;
  const uint8_t *labels;
  const int32_t *rows;
  int64_t count;
  int64_t *out; /* on the device: correct, predicted, actual */
};

struct loss_ops {
  int (*cross_entropy)(struct kernels *k, const struct loss_op *op);
  int (*bce)(struct kernels *k, const struct loss_op *op);
  int (*sum_losses)(struct kernels *k, const struct loss_op *op);
  int (*accuracy)(struct kernels *k, const struct score *op);
  int (*micro_f1)(struct kernels *k, const struct score *op);
};

int op_cross_entropy(struct kernels *k, const struct loss_op *op);
int op_bce(struct kernels *k, const struct loss_op *op);
/* *loss = scale * sum of row_loss, which an op has left in all rows. */
int op_sum_losses(struct kernels *k, const struct loss_op *op);
int op_accuracy(struct kernels *k, const struct score *op);
int op_micro_f1(struct kernels *k, const struct score *op);
/* Whether its matrices have the shapes that they should. */
int loss_fits(const struct kernels *k, const struct loss_op *op);

#endif
