/* sparse: sparse matrices on the device, and products with them. */
#ifndef KERNELS_OPS_SPARSE_H
#define KERNELS_OPS_SPARSE_H

#include "kernels/ops/epilogue.h"
#include "runtime/base/csr.h"

/* Attention whose arcs may lie in tiles: by terms, of so many heads (attention_takes_tiles), or by cosines
 * (cosine_takes_tiles), of one. heads 0: none. */
struct arc_scores {
  int64_t heads;
  int cosines;
};

/* What products a layout is for: with the matrix, the precision and stored constants it decides the tiers
 * (kernels/cost/cost_model.h) and the row segments (kernels/format/row_segments.h). A layout serves every
 * width, best this one. */
struct layout_plan {
  enum layout_tiers tiers;
  int64_t width; /* columns of X; 0: not known, for the gather alone */
  int streams;   /* the gather may stream through short rows */
  /* For measurements, of LAYOUT_CSR: groups of 32 columns that a warp sums at once, 1, 2 or 4 (0: by the
   * width); its threads read each column id from memory instead of sharing what they have read. */
  int csr_groups, csr_uncached;
  int64_t vector_threshold; /* of LAYOUT_VECTORS, 1 to 8; 0: VECTOR_THRESHOLD */
  struct arc_scores scores; /* of attention, which the layout is for: tiles and the gather; or, where
                             * forced and by cosines, column vectors and the gather */
};

/* Which part of a product is computed: all of it, tensor cores' sums, which stay in the workspace until the
 * same product's rest is queued, or this rest. */
enum spmm_phase { SPMM_WHOLE, SPMM_AHEAD, SPMM_REST };

/* Y = A X between scales:
 *   sum_v = (accumulate ? y_v : 0) + sum_{u in row v} w_vu c_u X_u + s_v c_v X_v
 *   y_v   = r_v sum_v + added_v, then `epilogue` on that row.
 * Rows flagged in `has_halo` keep the bare sum in `sums`: another part of the matrix adds to it later, by
 * accumulate. Where the layout lists its rows (csr.row), only those rows of y are touched, else its first
 * ones. X is one matrix, or the rows of `x` and, behind them, those of `far`: both with rows at multiples of
 * ROW_BYTES, in one block of memory, and times their c. `far` is not read ahead. (Binary SpMM with factored
 * values: Kipf and Welling 2017; Huang et al., GE-SpMM, SC 2020.) */
struct spmm {
  const struct layout *a;
  struct tensor x;            /* dtype [a.cols, width], or [a.near, width] */
  struct tensor far;          /* dtype [a.cols - a.near, width], or absent */
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
  enum spmm_phase phase;
};

/* y (a layout with the pattern of x and its own values) = dropout of x's values. Sparse features: element
 * (node, feature); transposed: x is features by nodes. */
struct sparse_dropout {
  const struct layout *x;
  struct layout *y;
  int transposed;
  struct dropout dropout;
};

struct sparse_ops {
  int (*layout_init)(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout);
  int (*layout_share)(struct kernels *k, const struct layout *from, struct layout **layout);
  void (*layout_free)(struct kernels *k, struct layout *layout);
  int (*spmm)(struct kernels *k, const struct spmm *op);
  int64_t (*spmm_workspace)(const struct spmm *op); /* NULL: none */
  int (*sparse_dropout)(struct kernels *k, const struct sparse_dropout *op);
};

/* Prepares host matrix m for the device as `plan` says (NULL: for the gather alone); *layout is freed by
 * layout_free. m must outlive it and not change. Weighted values are read from m.weight. layout_share: same
 * pattern, own writable values, for sparse_dropout. */
int layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                struct layout **layout);
int layout_share(struct kernels *k, const struct layout *from, struct layout **layout);
void layout_free(struct kernels *k, struct layout *layout); /* NULL is fine */

/* Bytes of scratch that op_spmm will ask for, from layout and shapes alone: scales may have any address. */
int64_t spmm_workspace(const struct kernels *k, const struct spmm *op);
int op_spmm(struct kernels *k, const struct spmm *op);
/* Whether rows can end with it: that of a ReLU, from its output, in place and without sums. */
int op_spmm_takes_epilogue(const struct epilogue_backward *below);
int op_sparse_dropout(struct kernels *k, const struct sparse_dropout *op);

#endif
