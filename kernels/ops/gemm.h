/* gemm: dense products, and what they take along. */
#ifndef KERNELS_OPS_GEMM_H
#define KERNELS_OPS_GEMM_H

#include "kernels/ops/epilogue.h"

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

struct gemm_ops {
  int (*gemm)(struct kernels *k, const struct gemm *op);
  int64_t (*gemm_workspace)(const struct kernels *k, int64_t rows, int64_t cols); /* NULL: none */
  /* With backward->chained_wgrad, or all fused wgrads, or both, in one pass over the rows: *took says which,
   * of `enum gemm_fusion`; 0: nothing is done. NULL: never. */
  int (*gemm_fused)(struct kernels *k, const struct gemm *op, int *took);
  int (*gemm_repeats)(const struct kernels *k, const struct gemm *op); /* NULL: never */
};

/* Bytes of scratch that op_gemm will ask for at most where C = A^T B is [rows, cols], of tall A and B. */
int64_t gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols);

/* Its work when so much is multiplied along, of `enum gemm_fusion`. */
struct op_work gemm_work(const struct gemm *op, int took);

int op_gemm(struct kernels *k, const struct gemm *op);
/* Whether a product with a batch norm's `backward` is better made twice, see struct gemm. */
int op_gemm_repeats(const struct kernels *k, const struct gemm *op);
/* Whether op is the gradient of a weight, A^T dz, and nothing more. */
int gemm_is_gradient_of(struct tensor dz, const struct gemm *op);

#endif
