#include <stdlib.h>

#include "launch/bench/bench.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"

static const struct philox_key noise_key = {{2026, 11}};

/* Element i of stream `seed`, in [-1, 1) and exact in float. */
static double noise(uint64_t seed, int64_t i) {
  return 2 * (double)random_unit(random_block(noise_key, (uint64_t)i, seed).word[0]) - 1;
}

static void set_value(const struct bench_matrix *m, int64_t i, int64_t j, double value) {
  int64_t at = i * m->tensor.stride + j;
  switch (m->tensor.dtype) {
  case F64:
    ((double *)m->host)[at] = value;
    break;
  case F32:
    ((float *)m->host)[at] = (float)value;
    break;
  case BF16:
    ((uint16_t *)m->host)[at] = bf16_of_float((float)value);
    break;
  }
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

/* Rows are padded as the rows of activations are. */
int bench_matrix_alloc(struct bench *bench, struct bench_matrix *m, enum dtype dtype, int64_t rows,
                       int64_t cols) {
  *m = (struct bench_matrix){.tensor = tensor_padded(NULL, dtype, rows, cols)};
  int64_t bytes = tensor_bytes(m->tensor);
  TRY(memory_alloc(&m->host, bytes, "benchmark matrix"));
  return device_alloc(&bench->device, bytes, &m->tensor.data, "benchmark matrix");
}

int bench_matrix_fill(struct bench *bench, struct bench_matrix *m,
                      double (*value)(const void *context, int64_t i, int64_t j), const void *context) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < m->tensor.rows; i++) {
    for (int64_t j = 0; j < m->tensor.cols; j++) set_value(m, i, j, value(context, i, j));
  }
  TRY(device_upload(&bench->device, STREAM_COMPUTE, m->tensor.data, m->host, tensor_bytes(m->tensor)));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}

struct noise {
  uint64_t seed;
  int64_t cols;
};

static double noise_value(const void *context, int64_t i, int64_t j) {
  const struct noise *of = context;
  return noise(of->seed, i * of->cols + j);
}

int bench_matrix_init(struct bench *bench, struct bench_matrix *m, int64_t rows, int64_t cols,
                      uint64_t seed) {
  TRY(bench_matrix_alloc(bench, m, bench->kernels.dtype, rows, cols));
  return bench_matrix_fill(bench, m, noise_value, &(struct noise){seed, cols});
}

int bench_matrix_download(struct bench *bench, struct bench_matrix *m) {
  TRY(device_download(&bench->device, STREAM_COMPUTE, m->host, m->tensor.data, tensor_bytes(m->tensor)));
  return device_synchronize(&bench->device, STREAM_COMPUTE);
}

void bench_matrix_free(struct bench *bench, struct bench_matrix *m) {
  free(m->host);
  device_release(&bench->device, m->tensor.data);
  *m = (struct bench_matrix){0};
}
