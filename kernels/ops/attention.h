/* attention: the ops of graph attention, as those of kernels/ops/ops.h: forward in one pass a row, backward
 * by gathers over the transposed pattern, where the coefficients are computed anew from a number a row.
 * Nothing of the size of the edges is stored. */
#ifndef KERNELS_OPS_ATTENTION_H
#define KERNELS_OPS_ATTENTION_H

#include "kernels/ops/epilogue.h"

/* Whether arcs of attention by terms may lie in tiles: rows of bf16, and heads of whole products of tensor
 * cores; and without dropout, which is no part of it. */
static inline int attention_takes_tiles(const struct kernels *k, int64_t width, int64_t heads) {
  return k->dtype == BF16 && (heads == 1 || width / heads % 16 == 0);
}

/* Likewise of attention by cosines, whose layouts are made for one head, and may have column vectors. */
enum { COSINE_TILES_WIDTH = 64 /* at most */ };
static inline int cosine_takes_tiles(const struct kernels *k, int64_t width) {
  return k->dtype == BF16 && width <= COSINE_TILES_WIDTH;
}

/* What a row of one rank tells rows of another travels as one row of dtype: elements, and behind them reals
 * as they lie in memory. Each piece begins at the next multiple of ROW_BYTES, so that narrow rows lie in one
 * line with their reals, and messages have tensor_stride's strides. Elements may own the gap behind them
 * before the reals are written, not afterwards. */
static inline int64_t message_piece(enum dtype dtype, int64_t count) {
  const int64_t unit = ROW_BYTES / dtype_bytes(dtype);
  return (count + unit - 1) / unit * unit;
}
static inline int64_t message_elements(const struct kernels *k, int64_t count) {
  return message_piece(k->dtype, count);
}

/* Columns of dtype that that many reals take. */
static inline int64_t message_reals(const struct kernels *k, int64_t count) {
  return message_piece(k->dtype, count * dtype_bytes(k->real) / dtype_bytes(k->dtype));
}

/* The reals that begin at column `first` of the rows of t, dtype. */
static inline struct tensor tensor_reals(const struct kernels *k, struct tensor t, int64_t first,
                                         int64_t count) {
  struct tensor reals = tensor_columns(t, first, count);
  reals.stride = t.stride * dtype_bytes(t.dtype) / dtype_bytes(k->real);
  reals.dtype = k->real;
  return reals;
}

/* Columns of what rows keep between two parts of attention, y | positive, each at a multiple of ROW_BYTES;
 * with dynamic scores only y. */
static inline int64_t attention_sums_cols(const struct kernels *k, int64_t width) {
  return 2 * tensor_stride(k->real, width);
}

/* Rows at the other ends of arcs; x.data NULL: there are none. */
struct arc_ends {
  struct tensor x, term; /* dtype [.., width], real [.., heads] */
};

/* Attention of H heads (Velickovic et al. 2018). A row of x holds the heads side by side, width / H columns
 * each; arcs (v <- u) are those of the layout and, where `self` is given, one (v <- v) a row:
 *   e_vu = LeakyReLU(term_u + row_term_v), slope .2;  a_vu = softmax of e over the arcs of row v
 *   y_v  = sum_u a_vu k_vu x_u,  k_vu: dropout
 * or, where `right` is given in place of the terms, with dynamic scores (Brody et al. 2022)
 *   e_vu = score . LeakyReLU(x_u + right_v), head by head,
 * in one pass with a running maximum; log_sum_v = log sum_u exp(e_vu) is all that is kept of the softmax:
 * a_vu = exp(e_vu - log_sum_v). Rows flagged `has_halo` are done with the columns seen so far, and leave y
 * and positive in `sums`; with `accumulate` what a row has there counts as one more arc, of score log_sum_v
 * and value y_v. By terms, and gathered, columns may be the rows of x and, from a.near on, those of `far`, as
 * struct spmm has it: terms are then columns of the same rows as x, as far behind it in both matrices.
 * positive and share (data NULL: not wanted) are y and the sum of a over arcs with term_u + row_term_v > 0:
 * what the gradient of row_term needs of the row's columns. */
struct attention {
  const struct layout *a;
  int64_t heads;
  struct tensor x;            /* dtype [a.cols, width], or [a.near, width] */
  struct tensor term;         /* real [a.cols, heads], or [a.near, heads] */
  struct arc_ends far;        /* [a.cols - a.near]; or absent */
  struct arc_ends self;       /* the rows themselves; absent: no self loops */
  struct tensor row_term;     /* real [rows, heads] */
  struct tensor right, score; /* dtype [rows, width], real [heads, width / heads]; data NULL: terms */
  struct dropout dropout;     /* its ids are those of the rows; see attention_counter */
  const int64_t *col_id;      /* [a.cols] global node ids, where there is dropout */
  const uint8_t *has_halo;    /* [rows]; NULL: all rows finish here */
  int accumulate;
  struct tensor log_sum;         /* real [rows, heads] */
  struct tensor positive, share; /* dtype [rows, width], real [rows, heads]; of terms */
  struct tensor
      sums;        /* real [rows, attention_sums_cols], where dtype is not real; else absent: y, positive */
  struct tensor y; /* dtype [rows, width] */
  struct tensor mean; /* over the heads of rows that finish, real [rows, width / heads]; or absent */
  const struct epilogue *epilogue; /* of rows that finish; its z is mean, or y without. Never a batch norm */
};

enum { ATTENTION_HEADS = 64 }; /* at most */

/* Bits of k_vu for heads 8 group ... 8 group + 7: head h takes lane h % 8 of this counter's block, as struct
 * dropout has it for columns. Ids up to 2^44. */
static inline HOST_DEVICE struct philox_block attention_counter(int64_t row, int64_t col, int64_t group,
                                                                uint32_t epoch) {
  uint64_t high = (uint64_t)group | (uint64_t)row >> 32 << 8 | (uint64_t)col >> 32 << 20;
  struct philox_block counter = {{(uint32_t)row, (uint32_t)col, (uint32_t)high, epoch}};
  return counter;
}

/* What the arcs of a row ask of it in the backward, from dz, the gradient of mean or y:
 *   delta_v = dy_v . y_v a head;  message_v = dz_v | the reals row_term_v, log_sum_v, delta_v
 *   row_term_grad_v = (1 - slope) (dy_v . positive_v - delta_v share_v)
 * the latter because sum_u a_vu (k_vu dy_v . x_u - delta_v) = 0. */
struct attention_rows {
  int64_t heads;
  struct tensor dz;                       /* dtype [rows, width], or [rows, width / heads]: of the mean */
  struct tensor row_term, log_sum, share; /* real [rows, heads] */
  struct tensor y, positive;              /* dtype [rows, width] */
  struct tensor message;                  /* dtype [rows, attention_message_cols] */
  struct tensor row_term_grad;            /* real [rows, heads] */
};

static inline int64_t attention_message_cols(const struct kernels *k, int64_t out, int64_t heads) {
  return message_elements(k, out) + message_reals(k, 3 * heads);
}

/* Gradients with respect to x and term, gathered over the transposed pattern: row u lists the rows v whose
 * arcs (v <- u) there are; with `self` also (u <- u) of the first rows.
 *   dx_u = sum_v a_vu k_vu dy_v;  term_grad_u = sum_v LeakyReLU'(e_vu) a_vu (k_vu dy_v . x_u - delta_v)
 * Where the terms are products, term_u = l . x_u and row_term_u = r . x_u head by head, rows that finish also
 * get dx_u += term_grad_u l + row_term_grad_u r. Messages may be those of two matrices, as forward. */
struct attention_backward {
  const struct layout *a;
  int64_t heads;
  struct tensor message;   /* dtype [a.cols, attention_message_cols], or [a.near, ..] */
  struct tensor far;       /* dtype [a.cols - a.near, ..], or absent */
  int64_t out;             /* columns of dz in it: width, or width / heads of a mean */
  struct tensor self;      /* messages of the first rows themselves, which have that arc; data NULL: none */
  struct tensor x, term;   /* dtype [rows, width], real [rows, heads] */
  struct dropout dropout;  /* as forward; its ids are those of the rows, here u */
  const int64_t *col_id;   /* of v */
  int accumulate;          /* to what `sums` and term_grad hold */
  const uint8_t *has_halo; /* [rows]; NULL: all rows finish here */
  struct tensor
      sums; /* dx of rows that `has_halo` flags, real [rows, width], where dtype is not real; else dx */
  struct tensor l, r;          /* real [heads, width / heads]; data NULL: terms are no products */
  struct tensor row_term_grad; /* real [rows, heads], with them */
  struct tensor dx, term_grad; /* dtype [rows, width], real [rows, heads] */
};

/* left_v = l . x_v and right_v = r . x_v, head by head. */
struct attention_terms {
  struct tensor x;           /* dtype [rows, width] */
  struct tensor l, r;        /* real [heads, width / heads] */
  struct tensor left, right; /* real [rows, heads] */
};

/* l_grad = sum_v left_grad_v x_v, head by head, r_grad likewise, over this rank's rows. The gradient of x is
 * with attention_backward. */
struct attention_terms_backward {
  struct tensor x;                     /* dtype [rows, width] */
  struct tensor left_grad, right_grad; /* real [rows, heads] */
  struct tensor l_grad, r_grad;        /* real [heads, width / heads] */
};

/* The backward of dynamic scores. What an arc (v <- u) needs beside x_u is the message of v, from dz, the
 * gradient of mean or y:
 *   message_v = dz_v | right_v | the reals log_sum_v, delta_v,  delta_v = dy_v . y_v a head */
struct dynamic_rows {
  int64_t heads;
  struct tensor dz;       /* dtype [rows, width], or [rows, width / heads]: of the mean */
  struct tensor right, y; /* dtype [rows, width] */
  struct tensor log_sum;  /* real [rows, heads] */
  struct tensor message;  /* dtype [rows, dynamic_message_cols] */
};

/* out: columns of dz. */
static inline int64_t dynamic_message_cols(const struct kernels *k, int64_t out, int64_t width,
                                           int64_t heads) {
  return message_elements(k, out) + message_elements(k, width) + message_reals(k, 2 * heads);
}

struct dynamic_message {
  struct tensor dz, right, log_sum, delta;
};
static inline struct dynamic_message dynamic_parts(const struct kernels *k, struct tensor message,
                                                   int64_t out, int64_t width, int64_t heads) {
  int64_t right = message_elements(k, out);
  struct tensor reals = tensor_reals(k, message, right + message_elements(k, width), 2 * heads);
  return (struct dynamic_message){.dz = tensor_columns(message, 0, out),
                                  .right = tensor_columns(message, right, width),
                                  .log_sum = tensor_columns(reals, 0, heads),
                                  .delta = tensor_columns(reals, heads, heads)};
}

/* With de_vu = a_vu (k_vu dy_v . x_u - delta_v) and s_vu = de_vu LeakyReLU'(x_u + right_v), head by head:
 *   DYNAMIC_IN:  over the arcs into a row v:  grad_v = sum_u score s_vu, the gradient of right_v
 *   DYNAMIC_OUT: over the arcs out of a row u, in the transposed pattern:
 *                grad_u = sum_v a_vu k_vu dy_v + score s_vu, that of x_u
 * LeakyReLU is homogeneous, so that the gradient of score is a sum over all nodes of
 *   products_v = right_v sum_u s_vu (DYNAMIC_IN) + x_v sum_w s_wv (DYNAMIC_OUT, which adds to them). */
enum dynamic_way { DYNAMIC_IN, DYNAMIC_OUT };
struct dynamic_backward {
  const struct layout *a;
  enum dynamic_way way;
  int64_t heads;
  int64_t out;             /* columns of dz in messages: width, or width / heads of a mean */
  struct tensor x;         /* dtype [a.cols, width]; of DYNAMIC_OUT [rows, width] */
  struct tensor message;   /* dtype [rows, dynamic_message_cols]; of DYNAMIC_OUT [a.cols, ..] */
  struct tensor score;     /* real [heads, width / heads] */
  int64_t selves;          /* the first columns are the rows' nodes, and so many rows have the arc (v <- v) */
  struct dropout dropout;  /* as forward; its ids are those of the rows */
  const int64_t *col_id;   /* [a.cols] */
  int accumulate;          /* to what there is: the second of two parts */
  const uint8_t *has_halo; /* [rows]; NULL: all rows finish here */
  struct tensor sums; /* grad of rows that `has_halo` flags, real [rows, width], where dtype is not real; else
                         grad */
  struct tensor grad, products; /* dtype, real [rows, width] */
};

/* Attention by cosines, in one head (Thekumparampil et al. 2018), n = x / |x|, and 0 where x is:
 *   a_vu = softmax over the arcs (v <- u) of beta n_v . n_u;  y_v = sum_u a_vu x_u
 * Of a node others need cosine_rows' message, x_v | the real 1 / |x_v|; in the backward with dz_v | the reals
 * log_sum_v, delta_v behind it, delta_v = dz_v . y_v. */
struct cosine_rows {
  struct tensor x;       /* dtype [rows, width] */
  struct tensor dz, y;   /* dtype [rows, width]; absent: forward */
  struct tensor log_sum; /* real [rows, 1], with them */
  struct tensor message; /* dtype [rows, cosine_message_cols] */
};

static inline int64_t cosine_message_cols(const struct kernels *k, int64_t width, int backward) {
  int64_t forward = message_elements(k, width) + message_reals(k, 1);
  int64_t behind = backward ? message_elements(k, width) + message_reals(k, 2) : 0;
  return forward + behind;
}

/* The parts of messages; of forward ones the first two. */
struct cosine_message {
  struct tensor x, inverse, dz, log_sum, delta;
};
static inline struct cosine_message cosine_parts(const struct kernels *k, struct tensor message,
                                                 int64_t width) {
  int64_t elements = message_elements(k, width), dz = elements + message_reals(k, 1);
  struct tensor reals = tensor_reals(k, message, dz + elements, 2);
  return (struct cosine_message){.x = tensor_columns(message, 0, width),
                                 .inverse = tensor_reals(k, message, elements, 1),
                                 .dz = tensor_columns(message, dz, width),
                                 .log_sum = tensor_columns(reals, 0, 1),
                                 .delta = tensor_columns(reals, 1, 1)};
}

/* `rows` are the messages of the rows themselves; `self`: each has the arc (v <- v) here. Otherwise as struct
 * attention. */
struct cosine_attention {
  const struct layout *a;
  struct tensor message, rows; /* dtype [a.cols, of a forward], [rows, ..] */
  const void *beta;            /* real */
  int self, accumulate;
  const uint8_t *has_halo;
  struct tensor log_sum;           /* real [rows, 1] */
  struct tensor sums;              /* real [rows, width], where dtype is not real; else absent: y */
  struct tensor y;                 /* dtype [rows, width] */
  const struct epilogue *epilogue; /* of rows that finish; its z is y */
};

/* With c_vu = n_v . n_u and de_vu = a_vu (dz_v . x_u - delta_v), sums over the layout's entries (row i,
 * column j), which stand for the arc (i <- j), for (j <- i), or for both, as in a symmetric pattern:
 *   COSINE_IN:  dn_i += beta de_ij n_j, beta_grad_i += de_ij c_ij
 *   COSINE_OUT: dn_i += beta de_ji n_j, dx_i += a_ji dz_j
 * Columns of messages behind 1 / |x| are not read of columns for COSINE_IN alone. */
enum { COSINE_IN = 1, COSINE_OUT = 2 };
struct cosine_backward {
  const struct layout *a;
  int arcs;                    /* COSINE_IN | COSINE_OUT */
  struct tensor message, rows; /* dtype [a.cols, ..], [rows, of a backward] */
  const void *beta;            /* real */
  int64_t selves;              /* so many of the first rows have the arc (v <- v) here */
  int accumulate;              /* to what is there */
  struct tensor dx, dn;        /* real [rows, width]; of arcs both ways in one part both may be dtype */
  struct tensor beta_grad;     /* real [rows, 1] */
};

/* y_v = dx_v + (dn_v - (dn_v . n_v) n_v) / |x_v| (+ residual_v): through the norm of x. */
struct cosine_epilogue {
  struct tensor message;  /* dtype, as cosine_rows has it */
  struct tensor dx, dn;   /* both dtype or both real [rows, width] */
  struct tensor residual; /* dtype; data NULL: none */
  struct tensor y;        /* dtype [rows, width]; may be residual */
};

/* scores_e = x_v . y_u of each entry e = (v, u), numbered as those of the layout's matrix: SDDMM, the part of
 * attention that attention itself does not write down. The layout is all gathered. */
struct sddmm {
  const struct layout *a;
  struct tensor x, y; /* dtype [rows, width], [a.cols, width] */
  void *scores;       /* real [nnz] */
};

struct attention_ops {
  int64_t (*attention_workspace)(const struct layout *a, int64_t width, int64_t heads); /* NULL: none */
  int (*attention)(struct kernels *k, const struct attention *op);
  int (*attention_rows)(struct kernels *k, const struct attention_rows *op);
  int (*attention_backward)(struct kernels *k, const struct attention_backward *op);
  int (*attention_terms)(struct kernels *k, const struct attention_terms *op);
  int (*attention_terms_backward)(struct kernels *k, const struct attention_terms_backward *op);
  int (*dynamic_rows)(struct kernels *k, const struct dynamic_rows *op);
  int (*dynamic_backward)(struct kernels *k, const struct dynamic_backward *op);
  int (*cosine_rows)(struct kernels *k, const struct cosine_rows *op);
  int (*cosine_attention)(struct kernels *k, const struct cosine_attention *op);
  int (*cosine_backward)(struct kernels *k, const struct cosine_backward *op);
  int (*cosine_epilogue)(struct kernels *k, const struct cosine_epilogue *op);
  int (*sddmm)(struct kernels *k, const struct sddmm *op);
};

/* Bytes of scratch that an op over the arcs of `a` will ask for. */
int64_t attention_workspace(const struct kernels *k, const struct layout *a, int64_t width, int64_t heads);
int op_attention(struct kernels *k, const struct attention *op);
int op_attention_rows(struct kernels *k, const struct attention_rows *op);
int op_attention_backward(struct kernels *k, const struct attention_backward *op);
int op_attention_terms(struct kernels *k, const struct attention_terms *op);
int op_attention_terms_backward(struct kernels *k, const struct attention_terms_backward *op);
int op_dynamic_rows(struct kernels *k, const struct dynamic_rows *op);
int op_dynamic_backward(struct kernels *k, const struct dynamic_backward *op);
int op_cosine_rows(struct kernels *k, const struct cosine_rows *op);
int op_cosine_attention(struct kernels *k, const struct cosine_attention *op);
int op_cosine_backward(struct kernels *k, const struct cosine_backward *op);
int op_cosine_epilogue(struct kernels *k, const struct cosine_epilogue *op);
int op_sddmm(struct kernels *k, const struct sddmm *op);

#endif
