/* optimizer: the step of the weights, and the scalars that it works with. */
#ifndef KERNELS_OPS_OPTIMIZER_H
#define KERNELS_OPS_OPTIMIZER_H

#include "kernels/ops/ops.h"

/* One optimiser step over a flat block, with scalars.lr and scalars.step.
 * Gradient clipping: g *= min(1, clip / sqrt(scalars.squares)) when clip > 0.
 * adam (Kingma, Ba 2015): coupled L2; adamw (Loshchilov, Hutter 2019): decoupled; sgd: v = momentum v + g,
 * w -= lr v. beta 0.9, 0.999, epsilon 1e-8. Weight decay applies to elements [0, decay_end); those in
 * [group_begin, group_end) have group_decay in its place. */
struct optimizer_op {
  enum optimizer optimizer;
  void *w;        /* real [count] */
  const void *dw; /* real [count] */
  void *m, *v;    /* real [count]; sgd uses m only and v may be NULL */
  void *copy;     /* dtype [count]: receives w rounded, where dtype is not real; else NULL */
  int64_t count, decay_end, group_begin, group_end;
  double momentum, weight_decay, group_decay, clip;
};

struct optimizer_ops {
  int (*advance)(struct kernels *k, const double *rate, int64_t rates);
  int (*sum_squares)(struct kernels *k, const void *x, int64_t count);
  int (*optimizer)(struct kernels *k, const struct optimizer_op *op);
};

/* Begins the next epoch: scalars.epoch and step rise by 1, lr = rate[epoch % rates] (on the device). Nothing
 * happens when the scalars are frozen. */
int op_advance(struct kernels *k, const double *rate, int64_t rates);
/* scalars.squares = sum of x_i^2, x real [count]; freezes the scalars when that is not finite. */
int op_sum_squares(struct kernels *k, const void *x, int64_t count);
/* Does nothing when the scalars are frozen. */
int op_optimizer(struct kernels *k, const struct optimizer_op *op);

#endif
