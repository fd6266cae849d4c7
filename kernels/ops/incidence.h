/* incidence: sums over hyperedges and back to their vertices, in one operation.
 *
 *   Y = diag(r) (B diag(t) B^T + diag(s)) diag(c) X
 *
 * B is the binary incidence matrix [vertices, hyperedges]. B diag(t) B^T is symmetric: the gradient with
 * respect to X is the same operation with r and c exchanged. With t = 1 / size and r = c = degree^-1/2 this
 * is the convolution of Feng et al. 2019, with t = 1 / size alone the means of means. A table keeps the sums
 * of hyperedges wherever it likes, a panel of columns at a time or never (HyperGef: Yu et al., MLSys 2023),
 * unless `kept` asks for them; equal inputs give equal bits whichever it takes.
 *
 * The way back may pass fewer vertices than the way there, or more: Y = diag(r) (C diag(t) B^T + diag(s))
 * diag(c) X, where C has the first rows of B, or B those of C. */
#ifndef KERNELS_OPS_INCIDENCE_H
#define KERNELS_OPS_INCIDENCE_H

#include "kernels/format/edge_split.h"
#include "kernels/format/pairs.h"
#include "kernels/ops/sparse.h"

/* What a gather's time is predicted from, and how it reads rows. */
struct gather_shape {
  int64_t rows, entries, longest; /* of a row */
  int64_t beside;                 /* bytes that an entry reads beside its row of X */
  uint32_t crowded; /* bit i: of rows i, i + 32, ... one holds more than 1 / 128 of all entries */
};

/* The hyperedges as INCIDENCE_SPLIT takes them. */
struct incidence_split {
  struct edge_split cut; /* its arrays are the device's, in `memory` */
  int32_t *col;          /* vertices of the hyperedges, there too */
  void *memory;          /* NULL: there is no such form */
};

/* Both views of B, prepared for the device. */
struct incidence {
  struct layout *edges;    /* [hyperedges, vertices] */
  struct layout *vertices; /* [vertices, hyperedges], its transpose; of other vertices, see above */
  enum incidence_form form;
  int64_t panel; /* of steps: bytes of a row that both make before they go on to the next columns, a multiple
                    of 32; 0: all, which is faster and takes more scratch */
  struct gather_shape there, back, fused;
  struct pairs pairs;
  struct layout *pair; /* of pairs.csr; NULL: there is no fused form */
  int32_t *pair_edge;  /* pairs.edge on the device */
  struct incidence_split split;
};

/* edges and vertices, of the same hyperedges, must outlive it and not change. plan's width: of the products
 * that it is made for. Errors: FAILED when memory is short; a half-built one may be freed. */
int incidence_init(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                   const struct layout_plan *plan, enum incidence_form form, struct incidence *incidence);
void incidence_free(struct kernels *k, struct incidence *incidence);

/* Microseconds that a form, not INCIDENCE_AUTO, is predicted to take on a GPU for rows of that many bytes;
 * INCIDENCE_SPLIT where it is there. */
double incidence_time(const struct incidence *a, enum incidence_form form, int64_t row);
/* The form for such rows on a GPU: the one that is asked for, or of those that are there the one predicted to
 * take the least time. */
enum incidence_form incidence_form(const struct incidence *a, int64_t row);

/* Rows flagged in `has_halo` keep the bare sum, without r, in `sums`: another part of B adds to it later. s
 * reads x in as many rows as y has, though only the rows of the way there are summed. */
struct incidence_sum {
  const struct incidence *a;
  struct tensor x;         /* dtype [vertices, width] */
  const void *col_scale;   /* c, real [vertices]; NULL: 1 */
  const void *edge_scale;  /* t, real [hyperedges]; NULL: 1 */
  const void *self_scale;  /* s, real [vertices]; NULL: 0 */
  const void *row_scale;   /* r, real [vertices]; NULL: 1 */
  const uint8_t *has_halo; /* [vertices]; NULL: all rows finish here */
  struct tensor kept;      /* dtype [hyperedges, width]: receives B^T diag(c) X; data NULL: not wanted */
  const struct epilogue *epilogue; /* of rows that finish; its z is y. NULL: none. Never a batch norm */
  struct tensor sums;              /* as that of struct spmm, real [vertices, width] */
  struct tensor y;                 /* dtype or real [vertices, width]; not x */
};

/* t from trained weights of hyperedges: out_e = scale_e weight[id_e]. */
struct incidence_weights {
  const void *weight; /* real, one a hyperedge of the whole hypergraph */
  const int32_t *id;  /* [count] */
  const void *scale;  /* real [count] */
  void *out;          /* real [count] */
  int64_t count;
};

/* Their gradient from what both directions kept: grad[id_e] = scale_e (a_e . b_e), 0 where no e is. */
struct incidence_weights_backward {
  struct tensor a, b; /* dtype [count, width] */
  const int32_t *id;
  const void *scale; /* real [count] */
  void *grad;        /* real [hyperedges] */
  int64_t count, hyperedges;
};

struct incidence_ops {
  int fuses, splits; /* whether it has INCIDENCE_FUSED, INCIDENCE_SPLIT */
  int64_t (*incidence_workspace)(const struct kernels *k, const struct incidence_sum *op);
  int (*incidence_sum)(struct kernels *k, const struct incidence_sum *op);
  int (*incidence_weights)(struct kernels *k, const struct incidence_weights *op);
  int (*incidence_weights_backward)(struct kernels *k, const struct incidence_weights_backward *op);
};

/* Bytes of scratch that op_incidence_sum will ask for, from shapes alone. */
int64_t incidence_workspace(const struct kernels *k, const struct incidence_sum *op);
int op_incidence_sum(struct kernels *k, const struct incidence_sum *op);
int op_incidence_weights(struct kernels *k, const struct incidence_weights *op);
int op_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op);

#endif
