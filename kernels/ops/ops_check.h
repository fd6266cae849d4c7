/* What all ops are checked for before a table gets them, in builds with assertions; and the bytes of
 * matrices, for the profile. */
#ifndef KERNELS_OPS_OPS_CHECK_H
#define KERNELS_OPS_OPS_CHECK_H

#include <assert.h>

#include "kernels/ops/epilogue.h"

/* t has that shape. */
static inline int has_shape(struct tensor t, int64_t rows, int64_t cols) {
  return t.rows == rows && t.cols == cols && t.stride >= cols && (t.data || rows == 0 || cols == 0);
}

/* t is a matrix of activations with that shape. */
static inline int is_matrix(const struct kernels *k, struct tensor t, int64_t rows, int64_t cols) {
  return t.dtype == k->dtype && has_shape(t, rows, cols);
}

static inline int is_real(const struct kernels *k, struct tensor t, int64_t rows, int64_t cols) {
  return t.dtype == k->real && has_shape(t, rows, cols);
}

static inline int is_either_matrix(const struct kernels *k, struct tensor t, int64_t rows, int64_t cols) {
  return is_matrix(k, t, rows, cols) || is_real(k, t, rows, cols);
}

/* Rows of whole vectors of a GPU. */
static inline int has_whole_rows(struct tensor t) {
  return (uintptr_t)t.data % 16 == 0 && t.stride * dtype_bytes(t.dtype) % ROW_BYTES == 0;
}

/* t has a bit for each element of such a matrix. */
static inline int is_of_signs(struct tensor t, int64_t rows, int64_t cols) {
  return t.dtype == BITS && has_shape(t, rows, (cols + 7) / 8);
}

static inline int is_absent_or_matrix(const struct kernels *k, struct tensor t, int64_t rows, int64_t cols) {
  return !t.data || is_matrix(k, t, rows, cols);
}

static inline void check_epilogue(const struct kernels *k, const struct epilogue *op, int64_t rows,
                                  int64_t cols) {
  assert(is_either_matrix(k, op->z, rows, cols) && has_shape(op->y, rows, cols));
  assert(op->y.dtype == op->z.dtype);
  assert(!op->residual.data || (has_shape(op->residual, rows, cols) && op->residual.dtype == op->z.dtype));
  assert(op->norm == NORM_NONE || (op->mean && op->rstd) || rows == 0);
  assert(op->dropout.threshold == 0 || op->dropout.id || rows == 0);
}

static inline void check_epilogue_backward(const struct kernels *k, const struct epilogue_backward *op) {
  int64_t rows = op->forward->z.rows, cols = op->forward->z.cols;
  check_epilogue(k, op->forward, rows, cols);
  assert(!op->forward->scale && (!op->scale || op->forward->norm != NORM_BATCH));
  assert(op->forward->y.data != op->forward->z.data || rows == 0 ||
         (op->forward->norm == NORM_NONE && !op->forward->residual.data));
  assert(is_matrix(k, op->dy, rows, cols) && is_matrix(k, op->dz, rows, cols));
  assert(op->forward->z.dtype == k->dtype ||
         (op->forward->norm == NORM_NONE && op->forward->activation == ACTIVATION_NONE));
  assert(!op->signs.data || is_of_signs(op->signs, rows, cols));
  assert(!op->signs.data || (op->forward->activation == ACTIVATION_RELU && op->forward->norm == NORM_NONE &&
                             op->forward->y.data == op->forward->z.data));
  assert(is_absent_or_matrix(k, op->residual_grad, rows, cols));
  assert(!op->residual_grad.data || op->residual_grad.data != op->dy.data);
}

/* What an op moves when each matrix passes once. */
static inline double bytes_of(struct tensor t) {
  return t.data ? (double)t.rows * (double)t.cols * (double)dtype_bytes(t.dtype) : 0;
}

/* What the way back reads of the forward pass. */
static inline double bytes_kept(const struct epilogue_backward *op) {
  return bytes_of(op->signs.data ? op->signs : op->forward->z);
}

/* Runs a call of the table inside a region of the profile, which the op's name names; value: the call's. */
#define RUN_OP(k, name, moved, computed, call)        \
  ((k)->work = (struct op_work){(moved), (computed)}, \
   PROFILE_WORK(name, (k)->work.bytes, (k)->work.flops, call))

#endif
