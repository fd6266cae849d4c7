/* attention: the ops of graph attention, as those of kernels/ops.h: forward in one pass a row, backward by
 * gathers over the transposed pattern, where the coefficients are computed anew from a number a row. Nothing
 * of the size of the edges is stored. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernels/ops.h"

/* Attention of H heads (Velickovic et al. 2018). A row of x holds the heads side by side, width / H columns
 * each; arcs (v <- u) are those of the layout and, where `self` is given, one (v <- v) a row:
 *   e_vu = LeakyReLU(term_u + row_term_v), slope .2;  a_vu = softmax of e over the arcs of row v
 *   y_v  = sum_u a_vu k_vu x_u,  k_vu: dropout
 * in one pass with a running maximum; log_sum_v = log sum_u exp(e_vu) is all that is kept of the softmax:
 * a_vu = exp(e_vu - log_sum_v). Rows flagged `unfinished` are done with the columns seen so far; with
 * `accumulate` what a row has counts as one more arc, of score log_sum_v and value y_v.
 * positive and share (data NULL: not wanted) are y and the sum of a over arcs with term_u + row_term_v > 0:
 * what the gradient of row_term needs of the row's columns. */
struct attention {
  const struct layout *a;
  int64_t heads;
  struct tensor x;               /* dtype [a.cols, width] */
  struct tensor term;            /* real [a.cols, heads] */
  struct tensor self, self_term; /* x and term of the rows themselves; data NULL: no self loops */
  struct tensor row_term;        /* real [rows, heads] */
  struct dropout dropout;        /* its ids are those of the rows; see attention_counter */
  const int64_t *col_id;         /* [a.cols] global node ids, where there is dropout */
  const uint8_t *unfinished;     /* [rows]; NULL: all rows finish here */
  int accumulate;
  struct tensor log_sum;         /* real [rows, heads] */
  struct tensor positive, share; /* real [rows, width], [rows, heads] */
  struct tensor y;               /* real [rows, width] */
  struct tensor mean;          /* over the heads of rows that finish, [rows, width / heads]; data NULL: no */
  const struct update *update; /* of rows that finish; its z is mean, or y without. Never a batch norm */
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
 *   delta_v = dy_v . y_v a head;  message_v = dz_v | row_term_v | log_sum_v | delta_v
 *   row_term_grad_v = (1 - slope) (dy_v . positive_v - delta_v share_v)
 * the latter because sum_u a_vu (k_vu dy_v . x_u - delta_v) = 0. */
struct attention_rows {
  int64_t heads;
  struct tensor dz;                       /* dtype [rows, width], or [rows, width / heads]: of the mean */
  struct tensor row_term, log_sum, share; /* real [rows, heads] */
  struct tensor y, positive;              /* real [rows, width] */
  struct tensor message;                  /* real [rows, dz.cols + 3 heads] */
  struct tensor row_term_grad;            /* real [rows, heads] */
};

/* Gradients with respect to x and term, gathered over the transposed pattern: row u lists the rows v whose
 * arcs (v <- u) there are; with `self` also (u <- u).
 *   dx_u = sum_v a_vu k_vu dy_v;  term_grad_u = sum_v LeakyReLU'(e_vu) a_vu (k_vu dy_v . x_u - delta_v) */
struct attention_backward {
  const struct layout *a;
  int64_t heads;
  struct tensor message;       /* real [a.cols, of attention_rows] */
  struct tensor self;          /* messages of the rows themselves; data NULL: no self loops */
  struct tensor x, term;       /* dtype [rows, width], real [rows, heads] */
  struct dropout dropout;      /* as forward; its ids are those of the rows, here u */
  const int64_t *col_id;       /* of v */
  int accumulate;              /* to what dx and term_grad hold */
  struct tensor dx, term_grad; /* real [rows, width], [rows, heads] */
};

/* left_v = l . x_v and right_v = r . x_v, head by head. */
struct attention_terms {
  struct tensor x;           /* dtype [rows, width] */
  struct tensor l, r;        /* real [heads, width / heads] */
  struct tensor left, right; /* real [rows, heads] */
};

/* dx_v += left_grad_v l + right_grad_v r, head by head; l_grad = sum_v left_grad_v x_v, r_grad likewise, over
 * this rank's rows. `left` and `right` of forward are not read. */
struct attention_terms_backward {
  const struct attention_terms *forward;
  struct tensor left_grad, right_grad; /* real [rows, heads] */
  struct tensor dx;                    /* real [rows, width] */
  struct tensor l_grad, r_grad;        /* as l and r */
};

/* Attention by cosines, in one head (Thekumparampil et al. 2018), n = x / |x|, and 0 where x is:
 *   a_vu = softmax over the arcs (v <- u) of beta n_v . n_u;  y_v = sum_u a_vu x_u
 * Of a node others need cosine_rows' message, x_v | 1 / |x_v|; in the backward with dz_v | log_sum_v |
 * delta_v behind it, delta_v = dz_v . y_v. */
struct cosine_rows {
  struct tensor x;              /* dtype [rows, width] */
  struct tensor dz, y, log_sum; /* dz dtype, y real [rows, width], log_sum real [rows, 1]; absent: forward */
  struct tensor message;        /* real [rows, width + 1], in the backward [rows, 2 width + 3] */
};

/* `rows` are the messages of the rows themselves; `self`: each has the arc (v <- v) here. Otherwise as struct
 * attention. */
struct cosine_attention {
  const struct layout *a;
  struct tensor message, rows; /* [a.cols, width + 1], [rows, width + 1] */
  const void *beta;            /* real */
  int self, accumulate;
  const uint8_t *unfinished;
  struct tensor log_sum;       /* real [rows, 1] */
  struct tensor y;             /* real [rows, width] */
  const struct update *update; /* of rows that finish; its z is y */
};

/* With c_vu = n_v . n_u and de_vu = a_vu (dz_v . x_u - delta_v), sums over the layout's entries (row i,
 * column j), which stand for the arc (i <- j), for (j <- i), or for both, as in a symmetric pattern:
 *   COSINE_IN:  dn_i += beta de_ij n_j, beta_grad_i += de_ij c_ij
 *   COSINE_OUT: dn_i += beta de_ji n_j, dx_i += a_ji dz_j
 * Columns of messages behind 1 / |x| are not read of columns for COSINE_IN alone. */
enum { COSINE_IN = 1, COSINE_OUT = 2 };
struct cosine_backward {
  const struct layout *a;
  int arcs;                        /* COSINE_IN | COSINE_OUT */
  struct tensor message, rows;     /* real [a.cols, ..], [rows, 2 width + 3] */
  const void *beta;                /* real */
  int self, accumulate;            /* accumulate: to what is there */
  struct tensor dx, dn, beta_grad; /* real [rows, width] twice, [rows, 1] */
};

/* y_v = dx_v + (dn_v - (dn_v . n_v) n_v) / |x_v| (+ residual_v): through the norm of x. */
struct cosine_end {
  struct tensor message;  /* real, as cosine_rows has it */
  struct tensor dx, dn;   /* real [rows, width] */
  struct tensor residual; /* dtype; data NULL: none */
  struct tensor y;        /* dtype [rows, width]; may be residual */
};

/* Whether the table has them. */
int attention_is_there(const struct kernels *k);
int op_attention(struct kernels *k, const struct attention *op);
int op_attention_rows(struct kernels *k, const struct attention_rows *op);
int op_attention_backward(struct kernels *k, const struct attention_backward *op);
int op_attention_terms(struct kernels *k, const struct attention_terms *op);
int op_attention_terms_backward(struct kernels *k, const struct attention_terms_backward *op);
int op_cosine_rows(struct kernels *k, const struct cosine_rows *op);
int op_cosine_attention(struct kernels *k, const struct cosine_attention *op);
int op_cosine_backward(struct kernels *k, const struct cosine_backward *op);
int op_cosine_end(struct kernels *k, const struct cosine_end *op);

#endif
