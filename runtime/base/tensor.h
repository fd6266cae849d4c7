/* tensor: a row-major view of a matrix in some device's memory. Owns nothing. */
#ifndef RUNTIME_BASE_TENSOR_H
#define RUNTIME_BASE_TENSOR_H

#include <stdint.h>

#include "runtime/base/host_device.h"
#include "runtime/base/types.h"

struct tensor {
  void *data; /* element (i, j) is data[i * stride + j]; NULL: absent */
  enum dtype dtype;
  int64_t rows, cols, stride;
};

static inline HOST_DEVICE int64_t dtype_bytes(enum dtype dtype) {
  return dtype == F64 ? 8 : dtype == F32 ? 4 : dtype == BF16 ? 2 : 1;
}

/* Rows of activations and parameters lie at multiples of ROW_BYTES: wide loads, whole sectors of a GPU's
 * memory; and where that costs little at multiples of LINE_BYTES, so that a row touches no more of the lines
 * of its caches than it must. What the gaps hold is nobody's business but the parameters', where they stay
 * zero. */
enum { ROW_BYTES = 32, LINE_BYTES = 128 };

/* Bytes from row to row for rows of so many, and for rows as long as that: pieces of a message and of scratch
 * are counted by it and laid out by it again. */
static inline HOST_DEVICE int64_t tensor_pitch(int64_t row) {
  int64_t sectors = (row + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
  int64_t lines = (row + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
  int fills_lines = sectors <= 2 * LINE_BYTES || lines * 8 <= sectors * 9;
  return sectors > LINE_BYTES / 2 && fills_lines ? lines : sectors;
}

static inline HOST_DEVICE int64_t tensor_stride(enum dtype dtype, int64_t cols) {
  return tensor_pitch(cols * dtype_bytes(dtype)) / dtype_bytes(dtype);
}

static inline struct tensor tensor_of(void *data, enum dtype dtype, int64_t rows, int64_t cols) {
  return (struct tensor){data, dtype, rows, cols, cols};
}

static inline struct tensor tensor_padded(void *data, enum dtype dtype, int64_t rows, int64_t cols) {
  return (struct tensor){data, dtype, rows, cols, tensor_stride(dtype, cols)};
}

/* The same memory as a matrix of fewer columns. */
static inline struct tensor tensor_narrowed(struct tensor t, int64_t cols) {
  return tensor_padded(t.data, t.dtype, t.rows, cols);
}

/* The same with as little between its rows as ROW_BYTES allows: rows on their way between ranks. */
static inline struct tensor tensor_packed(struct tensor t, int64_t cols) {
  int64_t unit = ROW_BYTES / dtype_bytes(t.dtype);
  return (struct tensor){t.data, t.dtype, t.rows, cols, (cols + unit - 1) / unit * unit};
}

/* bf16 is the upper half of a float; rounded to nearest even. */
static inline uint16_t bf16_of_float(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40); /* NaN stays NaN */
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline float float_of_bf16(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float wide;
  __builtin_memcpy(&wide, &bits, sizeof wide);
  return wide;
}

/* Rows [first, first + rows) of t; an absent matrix stays absent. */
static inline struct tensor tensor_rows(struct tensor t, int64_t first, int64_t rows) {
  if (t.data) t.data = (char *)t.data + first * t.stride * dtype_bytes(t.dtype);
  t.rows = rows;
  return t;
}

/* Columns [first, first + cols) of t; likewise. */
static inline struct tensor tensor_columns(struct tensor t, int64_t first, int64_t cols) {
  if (t.data) t.data = (char *)t.data + first * dtype_bytes(t.dtype);
  t.cols = cols;
  return t;
}

static inline int64_t tensor_bytes(struct tensor t) {
  return t.rows * t.stride * dtype_bytes(t.dtype);
}

#endif
