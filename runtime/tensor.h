/* tensor: a row-major view of a matrix in some device's memory. Owns nothing. */
#ifndef RUNTIME_TENSOR_H
#define RUNTIME_TENSOR_H

#include <stdint.h>

enum dtype { F32, BF16, F64 }; /* F64: CPU only, for gradient checks */

struct tensor {
  void *data; /* element (i, j) is data[i * stride + j]; NULL: absent */
  enum dtype dtype;
  int64_t rows, cols, stride;
};

static inline int64_t dtype_bytes(enum dtype dtype) {
  return dtype == F64 ? 8 : dtype == F32 ? 4 : 2;
}

static inline struct tensor tensor_of(void *data, enum dtype dtype, int64_t rows, int64_t cols) {
  return (struct tensor){data, dtype, rows, cols, cols};
}

/* Rows [first, first + rows) of t. */
static inline struct tensor tensor_rows(struct tensor t, int64_t first, int64_t rows) {
  t.data = (char *)t.data + first * t.stride * dtype_bytes(t.dtype);
  t.rows = rows;
  return t;
}

static inline int64_t tensor_bytes(struct tensor t) {
  return t.rows * t.stride * dtype_bytes(t.dtype);
}

#endif
