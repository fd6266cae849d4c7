/* ops: what a device computes. One table, filled by kernels/cpu (and by each further device).
 *
 * Every op is a struct of arguments and a function op_X that checks shapes, opens a profile region and calls
 * the table. Tensors and pointers live in the device's memory and belong to the caller; work is queued on
 * the compute stream. Two element types: activations, features and the weights that products read are
 * kernels.dtype; parameters, their gradients, scales, statistics, logits and losses are kernels.real, "real"
 * below. They differ in bf16 only. A matrix, other than of parameters, whose stride is tensor_stride's owns
 * the gaps behind its rows, and ops may write there; other gaps they leave alone. Sums are kept in at least
 * fp32; equal inputs give equal bits for an equal number of threads. */
#ifndef KERNELS_OPS_OPS_H
#define KERNELS_OPS_OPS_H

#include <stdint.h>

#include "runtime/base/csr.h"
#include "runtime/base/random.h"
#include "runtime/base/tensor.h"
#include "runtime/base/types.h"
#include "runtime/device/device.h"

/* What products a layout is for: with the matrix, the precision and stored constants it decides the tiers
 * (kernels/cost/cost_model.h) and the row segments (kernels/format/row_segments.h). A layout serves every
 * width, best this one. */
struct layout_plan {
  enum layout_tiers tiers;
  int64_t width; /* columns of X; 0: not known, for the gather alone */
  int streams;   /* the gather may stream through short rows */
};
struct layout; /* a sparse matrix prepared for the device: kernels/format/layout.h, continued by each table */

/* Values that change from epoch to epoch, in device memory so that a recorded epoch can be replayed. */
struct scalars {
  uint32_t epoch; /* fourth counter word of dropout */
  int32_t step;   /* optimiser steps taken, counting this one */
  int32_t frozen; /* a gradient was not finite: neither epoch nor weights move any more */
  double lr;      /* learning rate of this step */
  double squares; /* sum of squares of the gradient, written by op_sum_squares */
};

struct kernels {
  const struct kernel_ops *ops;
  struct device *device; /* borrowed */
  enum precision precision;
  enum dtype dtype;        /* of activations and their gradients */
  enum dtype real;         /* of all else */
  struct scalars *scalars; /* on the device; owned */
  void *workspace;         /* on the device; owned, grows to what the largest op asked for */
  int64_t workspace_bytes;
  int64_t moves; /* how often the workspace has moved: work recorded before refers to the old one */
  void *impl;    /* what the table's open made */
};

/* Y = A X between scales:
 *   sum_v = (accumulate ? y_v : 0) + sum_{u in row v} w_vu c_u X_u + s_v c_v X_v
 *   y_v   = r_v sum_v + added_v, then `epilogue` on that row.
 * Rows flagged in `has_halo` keep the bare sum in `sums`: another part of the matrix adds to it later, by
 * accumulate. Where the layout lists its rows (csr.row), only those rows of y are touched. (Binary SpMM with
 * factored values: Kipf and Welling 2017; Huang et al., GE-SpMM, SC 2020.) */
struct spmm {
  const struct layout *a;
  struct tensor x;            /* dtype [a.cols, width] */
  const void *col_scale;      /* c, real [a.cols]; NULL: 1 */
  const void *self_scale;     /* s, real [rows]; NULL: no self loops */
  struct tensor self;         /* X of the rows themselves when self_scale is given, dtype [rows, width] */
  const void *self_col_scale; /* c of the rows themselves, real [rows]; NULL: 1 */
  const void *row_scale;      /* r, real [rows]; NULL: 1 */
  struct tensor added;        /* dtype [rows, width], to rows that finish; data NULL: none. Not y's memory */
  const uint8_t *has_halo;    /* [rows]; NULL: all rows finish here */
  int accumulate;
  const struct epilogue *epilogue;       /* of rows that finish; its z is y. NULL: none. Never a batch norm */
  const struct epilogue_backward *below; /* likewise, y is its dy; op_spmm_takes_epilogue. Or `epilogue` */
  struct tensor sums; /* real [rows, width], where y is dtype and dtype is not real; else absent: y itself */
  struct tensor y;    /* dtype or real [rows, width] */
};

/* C = f op(A) op(B) (+ A2 op(B2)) (+ C when accumulate), then `epilogue` or `backward` on C. op(A) [m, k],
 * op(B) [k, n], C [m, n]. With `backward` C is the gradient dy of a layer's output; what C holds afterwards
 * is open unless it is dz.
 *
 * A batch norm takes sums over all ranks' rows before rows can end. Forward C is z, whose moments the product
 * finds along with it. Backward dn is to become dz: kept and worked on by op_batch_norm_backward; or, where
 * the product costs less than that (op_gemm_repeats), it is made once for its sums and again with `norm`. */
struct gemm {
  struct tensor a, b, c; /* a, b dtype; c dtype or real */
  struct tensor a2, b2;  /* a second product in the same sums, dtype; data NULL: none. Not with transpose_a */
  int transpose_a, transpose_b, accumulate;
  const double *factor;                     /* f; NULL: 1. With transpose_a alone */
  const struct epilogue *epilogue;          /* its z is c. NULL: none. Never a batch norm */
  const struct epilogue_backward *backward; /* its dy is c. NULL: none. Not with epilogue */
  const struct column_moments *moments;     /* of c. NULL: not wanted. Without epilogue and backward */
  /* With a batch norm's `backward`, without its `chained_wgrad`: only C's sums are wanted. */
  int sums_alone;
  const struct batch_norm_backward *norm; /* dn becomes its dz at once, which is c. NULL: it stays */
  /* The gradient of this layer's weight, of which c is the gradient of the input: H^T A for the H that
   * `backward` works from; and H^T A2, of the weight B2. NULL: none. */
  const struct gemm *fused_wgrad, *fused_wgrad2;
  const struct gemm *chained; /* begins the layer above: its A is `epilogue`'s y, its C not A. NULL: none */
};

enum gemm_fusion { FUSED_CHAINED_WGRAD = 1, FUSED_WGRAD = 2, FUSED_CHAINED_GEMM = 4 };

/* Inverted dropout: element (v, j) is kept when its 16 bits of Philox(counter = (id low, id high, j / 8,
 * scalars.epoch), key) are >= threshold, and multiplied by `scale`. Lane j % 8: word (j % 8) / 2, its low
 * half for even j, its high half for odd j. threshold 0: off. */
struct dropout {
  struct philox_key key;
  uint32_t threshold; /* round(p * 65536), 65535 at most */
  float scale;        /* 1 / (1 - p) */
  const int64_t *id;  /* [rows] global node ids, on the device */
  double wide_scale;  /* scale before it was rounded, for tables of doubles */
};

/* y_i = scale[rows[i]] x[rows[i]]. */
struct gather {
  struct tensor x;
  const int32_t *rows; /* [y.rows] */
  const void *scale;   /* real [x.rows]; NULL: 1 */
  struct tensor y;
};

/* The element-wise epilogue of a layer:
 *   u = z + bias;  n = norm(u) = (u - mean) rstd gain + shift;  a = act(n);  y = dropout(a + residual)
 * Layer norm (Ba et al. 2016): mean and rstd over a row, computed here, kept in mean[rows], rstd[rows].
 * Batch norm (Ioffe and Szegedy 2015): mean and rstd over a column, given in mean[cols], rstd[cols].
 * y may be z; op_epilogue_backward takes that only without norm and residual, and works from y. */
struct epilogue {
  struct tensor z;  /* dtype or real [rows, cols], as are residual and y */
  const void *bias; /* real [cols]; NULL: none */
  enum norm norm;
  const void *gain, *shift; /* real [cols] */
  void *mean, *rstd;        /* real, see above */
  double epsilon;
  enum activation activation; /* leaky slope .01, ELU alpha 1 */
  struct tensor residual;     /* [rows, cols]; data NULL: none */
  struct dropout dropout;
  const void *scale;          /* real [rows], of y's rows in the end; NULL: 1. Of op_gemm and op_epilogue */
  struct tensor y;            /* [rows, cols] */
  const struct loss_op *loss; /* of y, its logits; see there. NULL: none. Of op_spmm */
};

/* Backward of the epilogue. `forward` holds the same arguments; saved is z, or y when they were one; without
 * norm and activation it is not read, and may be real where the gradients are dtype. dn = act'(n)
 * dropout'(dy); without norm dz = dn;  layer norm: dz by the row's formula; batch norm: dz receives dn, and
 * op_batch_norm_backward turns it into the gradient of z. Column sums (any may be NULL): shift_grad = sum dn,
 * gain_grad = sum dn xhat, bias_grad = sum dz. They are of this rank's rows only. dz may be dy. In the end,
 * past the sums, dz_v is multiplied by scale_v (not with batch norm). forward has no scale. `chained_wgrad`:
 * A^T dz for a weight's gradient, at once; dz is not read after it, and may stay unwritten. */
struct epilogue_backward {
  const struct epilogue *forward;
  struct tensor dy, dz;                     /* dtype */
  struct tensor residual_grad;              /* receives dropout'(dy); data NULL: not wanted; may not be dy */
  const void *scale;                        /* real [rows]; NULL: 1 */
  void *shift_grad, *gain_grad, *bias_grad; /* real [cols] */
  const struct gemm *chained_wgrad;         /* its b is dz; NULL: none */
};

/* dz <- gain rstd (dn - (sum_dn + xhat sum_dn_xhat) / count), the sums and count over all ranks. */
struct batch_norm_backward {
  const struct epilogue *forward;
  struct tensor dz;
  const void *sum_dn, *sum_dn_xhat; /* real [cols] */
  int64_t count;
};

/* Batch statistics from column moments, in steps of one op:
 *   MEAN: mean holds sums over all ranks and becomes the mean; rstd holds this rank's squares around the mean
 * of its own `rows`, whose sums are own_sum, and becomes those around the mean of all; own_sum NULL: no other
 * rank;
 *   VARIANCE: rstd holds all ranks' squares around the mean and becomes 1 / sqrt(variance + epsilon); the
 * running statistics move by `momentum` (variance unbiased, as torch has it); ALONE: both, of one rank;
 * RUNNING: mean and rstd are taken from the running statistics (evaluation). */
struct batch_norm_stats {
  enum { BATCH_NORM_MEAN, BATCH_NORM_VARIANCE, BATCH_NORM_ALONE, BATCH_NORM_RUNNING } step;
  void *mean, *rstd, *running_mean, *running_var; /* real [cols] */
  const void *own_sum;
  int64_t cols, rows, count;
  double epsilon, momentum;
};

/* y_ij = (accumulate ? y_ij : 0) + factor x_ij + (i == j ? diagonal : 0). */
struct add {
  struct tensor x; /* dtype or real */
  double factor, diagonal;
  int accumulate;
  struct tensor y; /* dtype or real, of x's shape; may be x */
};

/* *out = sum of a_ij b_ij. */
struct dot {
  struct tensor a, b; /* dtype, of one shape */
  void *out;          /* real */
};

/* out[j] = sum over rows of x_ij. real [cols] */
struct column_sums {
  struct tensor x; /* dtype or real */
  void *out;
};

/* sum[j] = sum over rows of x_ij; squares[j] = sum over rows of (x_ij - mean_j)^2 around these rows' own
 * mean. One pass over x: both are summed of x less its first row, which leaves squares their digits while
 * that row is not hundreds of deviations away (Chan, Golub and LeVeque 1983). real [cols] */
struct column_moments {
  struct tensor x; /* dtype or real */
  void *sum, *squares;
};

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

/* y (a layout with the pattern of x and its own values) = dropout of x's values. Sparse features: element
 * (node, feature); transposed: x is features by nodes. */
struct sparse_dropout {
  const struct layout *x;
  struct layout *y;
  int transposed;
  struct dropout dropout;
};

struct reduce;
struct reduce_backward;
struct attention;
struct attention_rows;
struct attention_backward;
struct attention_terms;
struct attention_terms_backward;
struct cosine_rows;
struct cosine_attention;
struct cosine_backward;
struct cosine_epilogue;
struct sddmm;
struct incidence_sum;
struct incidence_weights;
struct incidence_weights_backward;

struct kernel_ops {
  const char *device; /* "cpu" */
  enum dtype dtype, real;
  unsigned precisions;              /* a bit for each that it serves: 1 << PRECISION_FP32, ... */
  int (*open)(struct kernels *k);   /* NULL: nothing to do */
  void (*close)(struct kernels *k); /* takes a half-opened one */
  int (*layout_init)(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout);
  int (*layout_share)(struct kernels *k, const struct layout *from, struct layout **layout);
  void (*layout_free)(struct kernels *k, struct layout *layout);
  int (*spmm)(struct kernels *k, const struct spmm *op);
  int64_t (*spmm_workspace)(const struct spmm *op);                               /* NULL: none */
  int64_t (*gemm_workspace)(const struct kernels *k, int64_t rows, int64_t cols); /* NULL: none */
  int (*gemm)(struct kernels *k, const struct gemm *op);
  /* With backward->chained_wgrad, or all fused wgrads, or both, in one pass over the rows: *took says which,
   * of `enum gemm_fusion`; 0: nothing is done. NULL: never. */
  int (*gemm_fused)(struct kernels *k, const struct gemm *op, int *took);
  int (*gemm_repeats)(const struct kernels *k, const struct gemm *op); /* NULL: never */
  int (*gather)(struct kernels *k, const struct gather *op);
  int (*dropout)(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
  int (*sparse_dropout)(struct kernels *k, const struct sparse_dropout *op);
  int (*epilogue)(struct kernels *k, const struct epilogue *op);
  int (*epilogue_backward)(struct kernels *k, const struct epilogue_backward *op);
  int (*batch_norm_backward)(struct kernels *k, const struct batch_norm_backward *op);
  int (*batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op);
  int (*column_sums)(struct kernels *k, const struct column_sums *op);
  int (*column_moments)(struct kernels *k, const struct column_moments *op);
  int (*add)(struct kernels *k, const struct add *op, int count);
  int (*dot)(struct kernels *k, const struct dot *op);
  int (*cross_entropy)(struct kernels *k, const struct loss_op *op);
  int (*bce)(struct kernels *k, const struct loss_op *op);
  int (*sum_losses)(struct kernels *k, const struct loss_op *op);
  int (*accuracy)(struct kernels *k, const struct score *op);
  int (*micro_f1)(struct kernels *k, const struct score *op);
  int (*advance)(struct kernels *k, const double *rate, int64_t rates);
  int (*sum_squares)(struct kernels *k, const void *x, int64_t count);
  int (*optimizer)(struct kernels *k, const struct optimizer_op *op);
  int (*reduce)(struct kernels *k, const struct reduce *op); /* kernels/ops/reduce.h */
  int (*reduce_backward)(struct kernels *k, const struct reduce_backward *op);
  /* kernels/ops/attention.h */
  int64_t (*attention_workspace)(const struct layout *a, int64_t width, int64_t heads); /* NULL: none */
  int (*attention)(struct kernels *k, const struct attention *op);
  int (*attention_rows)(struct kernels *k, const struct attention_rows *op);
  int (*attention_backward)(struct kernels *k, const struct attention_backward *op);
  int (*attention_terms)(struct kernels *k, const struct attention_terms *op);
  int (*attention_terms_backward)(struct kernels *k, const struct attention_terms_backward *op);
  int (*cosine_rows)(struct kernels *k, const struct cosine_rows *op);
  int (*cosine_attention)(struct kernels *k, const struct cosine_attention *op);
  int (*cosine_backward)(struct kernels *k, const struct cosine_backward *op);
  int (*cosine_epilogue)(struct kernels *k, const struct cosine_epilogue *op);
  int (*sddmm)(struct kernels *k, const struct sddmm *op);
  /* kernels/ops/incidence.h */
  int incidence_fuses; /* whether it has the fused form */
  int64_t (*incidence_workspace)(const struct kernels *k, const struct incidence_sum *op);
  int (*incidence_sum)(struct kernels *k, const struct incidence_sum *op);
  int (*incidence_weights)(struct kernels *k, const struct incidence_weights *op);
  int (*incidence_weights_backward)(struct kernels *k, const struct incidence_weights_backward *op);
};

/* At least `bytes` of scratch on the device, valid until the next call. For tables. Errors: FAILED. */
int kernels_workspace(struct kernels *k, int64_t bytes, void **workspace);

/* Bytes of scratch that op_spmm will ask for, from layout and shapes alone: scales may have any address. */
int64_t spmm_workspace(const struct kernels *k, const struct spmm *op);
/* Bytes of scratch that op_gemm will ask for at most where C = A^T B is [rows, cols], of tall A and B. */
int64_t gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols);

/* Prepares host matrix m for the device as `plan` says (NULL: for the gather alone); *layout is freed by
 * layout_free. m must outlive it and not change. Weighted values are read from m.weight. layout_share: same
 * pattern, own writable values, for sparse_dropout. */
int layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                struct layout **layout);
int layout_share(struct kernels *k, const struct layout *from, struct layout **layout);
void layout_free(struct kernels *k, struct layout *layout); /* NULL is fine */

int op_spmm(struct kernels *k, const struct spmm *op);
/* Whether rows can end with it: that of a ReLU, from its output, in place and without sums. */
int op_spmm_takes_epilogue(const struct epilogue_backward *below);
int op_gemm(struct kernels *k, const struct gemm *op);
/* Whether a product with a batch norm's `backward` is better made twice, see struct gemm. */
int op_gemm_repeats(const struct kernels *k, const struct gemm *op);
int op_gather(struct kernels *k, const struct gather *op);
/* y may be x. */
int op_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
int op_sparse_dropout(struct kernels *k, const struct sparse_dropout *op);
int op_epilogue(struct kernels *k, const struct epilogue *op);
int op_epilogue_backward(struct kernels *k, const struct epilogue_backward *op);
int op_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op);
int op_batch_norm_stats(struct kernels *k, const struct batch_norm_stats *op);
int op_column_sums(struct kernels *k, const struct column_sums *op);
int op_column_moments(struct kernels *k, const struct column_moments *op);
int op_add(struct kernels *k, const struct add *op);
/* So many that do not touch each other's matrices, of the same shapes and types, at once. */
int op_add_all(struct kernels *k, const struct add *op, int count);
int op_dot(struct kernels *k, const struct dot *op);
int op_cross_entropy(struct kernels *k, const struct loss_op *op);
int op_bce(struct kernels *k, const struct loss_op *op);
/* *loss = scale * sum of row_loss, which an op has left in all rows. */
int op_sum_losses(struct kernels *k, const struct loss_op *op);
int op_accuracy(struct kernels *k, const struct score *op);
int op_micro_f1(struct kernels *k, const struct score *op);
/* Begins the next epoch: scalars.epoch and step rise by 1, lr = rate[epoch % rates] (on the device). Nothing
 * happens when the scalars are frozen. */
int op_advance(struct kernels *k, const double *rate, int64_t rates);
/* scalars.squares = sum of x_i^2, x real [count]; freezes the scalars when that is not finite. */
int op_sum_squares(struct kernels *k, const void *x, int64_t count);
/* Does nothing when the scalars are frozen. */
int op_optimizer(struct kernels *k, const struct optimizer_op *op);
/* threshold, scale and key for a rate p in [0, 1). */
struct dropout dropout_of(double rate, struct philox_key key, const int64_t *id);

#endif
