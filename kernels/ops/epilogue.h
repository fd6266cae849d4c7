/* epilogue: what an op does to rows that it has finished, and the way back through it. Products, sparse
 * products, attention and the element-wise ops take these alike; the latter also do them alone
 * (kernels/ops/elementwise.h). */
#ifndef KERNELS_OPS_EPILOGUE_H
#define KERNELS_OPS_EPILOGUE_H

#include "kernels/ops/ops.h"
#include "runtime/base/random.h"

struct loss_op;
struct gemm;

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
 * A^T dz for a weight's gradient, at once; dz is not read after it, and may stay unwritten. Of a ReLU whose z
 * and y were one `signs`, made of y by op_signs, serve for y, which is not read then. Not for op_gemm. */
struct epilogue_backward {
  const struct epilogue *forward;
  struct tensor dy, dz;                     /* dtype */
  struct tensor signs;                      /* BITS [rows, cols / 8]; data NULL: none */
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

/* sum[j] = sum over rows of x_ij; squares[j] = sum over rows of (x_ij - mean_j)^2 around these rows' own
 * mean. One pass over x: both are summed of x less its first row, which leaves squares their digits while
 * that row is not hundreds of deviations away (Chan, Golub and LeVeque 1983). real [cols] */
struct column_moments {
  struct tensor x; /* dtype or real */
  void *sum, *squares;
};

/* threshold, scale and key for a rate p in [0, 1). */
struct dropout dropout_of(double rate, struct philox_key key, const int64_t *id);

#endif
