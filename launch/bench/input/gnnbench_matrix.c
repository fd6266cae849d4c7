#include "launch/bench/bench.h"

static void set_value(const struct bench_matrix *m, int64_t i, int64_t j, double value) {
  int64_t at = i * m->tensor.stride + j;
  if (m->tensor.dtype == F64)
    ((double *)m->host)[at] = value;
  else if (m->tensor.dtype == F32)
    ((float *)m->host)[at] = (float)value;
  else
    ((uint16_t *)m->host)[at] = bf16_of_float((float)value);
}

double bench_value(const struct bench_matrix *m, int64_t i, int64_t j) {
  int64_t at = i * m->tensor.stride + j;
  switch (m->tensor.dtype) {
  case F64:
    return ((const double *)m->host)[at];
  case F32:
    return (double)((const float *)m->host)[at];
  default:
    return (double)float_of_bf16(((const uint16_t *)m->host)[at]);
  }
}

static int take(struct bench *bench, struct bench_matrix *m, struct tensor tensor) {
  m->tensor = tensor;
  TRY(bench_alloc(bench, &m->host, tensor_bytes(tensor)));
  return bench_upload(bench, NULL, tensor_bytes(tensor), &m->tensor.data);
}

static int fill(struct bench *bench, struct bench_matrix *m, bench_element *value, const void *context) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < m->tensor.rows; i++) {
    for (int64_t j = 0; j < m->tensor.cols; j++) set_value(m, i, j, value(context, i, j));
  }
  TRY(device_upload(&bench->device, STREAM_COMPUTE, m->tensor.data, m->host, tensor_bytes(m->tensor)));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}

int bench_matrix_alloc(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                       int64_t cols) {
  return take(bench, m, tensor_padded(NULL, dtype, rows, cols));
}

int bench_matrix_fill(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                      int64_t cols, bench_element *value, const void *context) {
  TRY(bench_matrix_alloc(bench, m, dtype, rows, cols));
  return fill(bench, m, value, context);
}

int bench_column(struct bench *bench, struct bench_matrix *m, int64_t rows, bench_element *value,
                 const void *context) {
  TRY(take(bench, m, tensor_of(NULL, bench->kernels.real, rows, 1)));
  return value ? fill(bench, m, value, context) : OK;
}

/* Exact in float (splitmix64: Steele, Lea and Flood 2014). */
static double noise(const void *seed, int64_t i, int64_t j) {
  uint64_t z = (*(const uint64_t *)seed << 56 ^ (uint64_t)i << 20 ^ (uint64_t)j) + 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return (double)(int32_t)(z >> 40) / (1 << 23) - 1;
}

int bench_matrix_noise(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                       int64_t cols, uint64_t seed) {
  return bench_matrix_fill(bench, m, dtype, rows, cols, noise, &seed);
}

static double value_of(const void *context, int64_t i, int64_t j) {
  return bench_value(context, i, j);
}

int bench_matrix_floats(struct bench *bench, const struct bench_matrix *m, struct tensor *floats) {
  struct bench_matrix copy = *m;
  if (m->tensor.dtype != F32)
    TRY(bench_matrix_fill(bench, &copy, F32, m->tensor.rows, m->tensor.cols, value_of, m));
  *floats = copy.tensor;
  return OK;
}

int bench_matrix_download(struct bench *bench, struct bench_matrix *m, int64_t step) {
  const struct tensor *t = &m->tensor;
  int64_t row = t->stride * dtype_bytes(t->dtype), bytes = t->cols * dtype_bytes(t->dtype);
  if (step == 1) row = bytes = tensor_bytes(*t);
  for (int64_t i = 0; i < (step == 1 ? 1 : t->rows); i += step)
    TRY(device_download(&bench->device, STREAM_COMPUTE, (char *)m->host + i * row, (char *)t->data + i * row,
                        bytes));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}
