/* elementwise: ops that go through dense matrices row by row, and sums of their columns. */
#ifndef KERNELS_OPS_ELEMENTWISE_H
#define KERNELS_OPS_ELEMENTWISE_H

#include "kernels/ops/epilogue.h"

/* y_i = scale[rows[i]] x[rows[i]]. */
struct gather {
  struct tensor x;
  const int32_t *rows; /* [y.rows]; NULL: row i is i */
  const void *scale;   /* real [x.rows]; NULL: 1 */
  struct tensor y;
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

/* out[j] = sum over rows of x_ij / divisor_i. real [cols] */
struct column_sums {
  struct tensor x;     /* dtype or real */
  const void *divisor; /* real [x.rows], what rows were multiplied by, never 0; NULL: 1 */
  void *out;
};

/* Bit j of a row of `of`: whether x_ij > 0. What is behind the columns is 0. */
struct signs {
  struct tensor x;  /* dtype [rows, cols] */
  struct tensor of; /* BITS [rows, (cols + 7) / 8] */
};

/* One peer of a put: a rank whose device this one stores into. */
struct put_peer {
  char *to;                          /* in the peer's memory */
  int64_t first;                     /* row of `to` where the first of ours goes */
  int64_t begin, end;                /* these of `rows` */
  uint32_t *signal_to, *signal_from; /* [PUT_BLOCKS] counters: this rank's in the peer's memory, the peer's
                                        here; signal_to NULL: another peer stands for the same rank */
};

enum { PUT_BLOCKS = 32 }; /* at most */

/* Rows of x, each times its scale, stored into the memory of other devices, which do the same: row begin + i
 * of `rows` becomes row first + i of `to`, for each peer. One-sided, as MPI_Put is (MPI Forum 2021, chapter
 * 12). Each block of threads signals the block of the same number on every peer when it begins, and again
 * when it has stored its share; it waits for their signals before it stores and before it ends. So nothing is
 * stored before the peer's put has begun, and all that the peers store is there when this one ends. On the
 * stream of stores. */
struct put {
  struct tensor x;
  const int32_t *rows; /* NULL: row i is i */
  const void *scale;   /* real [x.rows]; NULL: 1 */
  int64_t stride;      /* elements of the rows of `to` */
  int blocks;          /* of threads, as many as the peers' */
  int peers;
  int64_t stored;              /* rows, for all peers */
  const struct put_peer *peer; /* [peers] on the device */
  uint32_t *turn;              /* [PUT_BLOCKS] on the device, 0 at first: of these peers and no others */
  const int *ended;            /* where it becomes other than 0, nobody comes any more */
};

struct elementwise_ops {
  int (*gather)(struct kernels *k, const struct gather *op);
  int (*dropout)(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
  int (*epilogue)(struct kernels *k, const struct epilogue *op);
  int (*epilogue_backward)(struct kernels *k, const struct epilogue_backward *op);
  int (*batch_norm_backward)(struct kernels *k, const struct batch_norm_backward *op);
  int (*batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op);
  int (*column_sums)(struct kernels *k, const struct column_sums *op);
  int (*column_moments)(struct kernels *k, const struct column_moments *op);
  int (*add)(struct kernels *k, const struct add *op, int count);
  int (*dot)(struct kernels *k, const struct dot *op);
  int (*signs)(struct kernels *k, const struct signs *op);
  int (*put)(struct kernels *k,
             const struct put *op); /* NULL: devices of this kind do not reach each other */
};

int op_gather(struct kernels *k, const struct gather *op);
int op_put(struct kernels *k, const struct put *op);
/* y may be x. */
int op_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
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
int op_signs(struct kernels *k, const struct signs *op);

#endif
