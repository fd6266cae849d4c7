/* reduce: what the neighbours of a node become, and its gradient, as the ops of kernels/ops/ops.h (SpMM-like:
 * Huang et al., GE-SpMM, SC 2020). Plain sums and means are faster as op_spmm; these ops have every reducer.
 *
 * REDUCERS is the one place where a reducer is added; devices make their kernels of it, with these
 * expressions inlined. REDUCER(NAME, CHOOSES, START, STEP, END):
 *   START  what a row begins with
 *   STEP   of a, what the row has so far, and x, the next entry: for CHOOSES 0 what it has then; for CHOOSES
 *          1 whether x takes its place. Of equal values the lower global node id wins, so that results depend
 *          neither on the order of nodes nor on ranks; a NaN should win
 *   END    of a and n, the number of entries. A row that chose nothing becomes 0 in any case */
#ifndef KERNELS_OPS_REDUCE_H
#define KERNELS_OPS_REDUCE_H

#include "kernels/ops/ops.h"

#define REDUCERS(REDUCER)                        \
  REDUCER(SUM, 0, 0, a + x, a)                   \
  REDUCER(MEAN, 0, 0, a + x, n > 0 ? a / n : 0)  \
  REDUCER(MAX, 1, -INFINITY, x > a || x != x, a) \
  REDUCER(MIN, 1, INFINITY, x < a || x != x, a)

#define REDUCER_IN_ENUM(NAME, CHOOSES, START, STEP, END) REDUCER_##NAME,
enum reducer { REDUCERS(REDUCER_IN_ENUM) REDUCER_COUNT };
#undef REDUCER_IN_ENUM
extern const char *const reducer_name[REDUCER_COUNT]; /* "SUM" */

/* Whether it keeps the id of the entry that a number comes from. */
int reducer_chooses(enum reducer reducer);

/* Which node each number of a matrix comes from: global ids, below 2^31. */
struct winners {
  int32_t *id; /* [rows, cols], rows `stride` apart */
  int64_t stride;
};
enum { NO_WINNER = INT32_MAX };

/* y_v = reduction of x_u over the entries u of row v, and of x_v where self_scale_v is not 0. Values of the
 * matrix are not looked at. Rows in two parts: as struct spmm has it, what rows flagged `has_halo` have so
 * far goes to `sums` and to the winners. */
struct reduce {
  const struct layout *a; /* made with LAYOUT_GATHER */
  enum reducer reducer;
  struct tensor x;         /* dtype [a.cols, width] */
  const int64_t *col_id;   /* [a.cols] global node ids; these and winners: where the reducer chooses */
  const void *self_scale;  /* real [rows]; NULL: 0 */
  struct tensor self;      /* x of the rows themselves, where self_scale is given */
  const int64_t *id;       /* [rows] their global ids */
  const void *entries;     /* real [rows]: entries of a row in all parts; for MEAN */
  const uint8_t *has_halo; /* [rows]; NULL: all rows finish here */
  int accumulate;
  struct tensor sums; /* real [rows, width], where y is not; data NULL: y itself */
  struct tensor y;    /* dtype or real [rows, width] */
  struct winners winner;
};

/* dx_u = sum of dy_v where u won in row v: of reducers that choose. Row u of the layout lists the rows v that
 * have u (the transposed pattern), and `self` are dy and winners of the rows themselves. */
struct reduce_backward {
  const struct layout *a; /* made with LAYOUT_GATHER */
  struct tensor dy;       /* dtype [a.cols, width] */
  struct winners winner;  /* of a.cols rows */
  struct tensor self;     /* dtype [rows, width]; data NULL: no self loops */
  struct winners self_winner;
  const int64_t *id; /* [rows] global ids of u */
  const uint8_t *has_halo;
  int accumulate;
  struct tensor sums;
  struct tensor dx; /* dtype or real [rows, width] */
};

struct reduce_ops {
  int (*reduce)(struct kernels *k, const struct reduce *op);
  int (*reduce_backward)(struct kernels *k, const struct reduce_backward *op);
};

int op_reduce(struct kernels *k, const struct reduce *op);
int op_reduce_backward(struct kernels *k, const struct reduce_backward *op);

#endif
