#include <math.h>
#include <stdio.h>

#include "launch/gnnbench.h"
#include "runtime/error.h"

static int run(struct kernels *k, const void *op) {
  return op_gemm(k, op);
}

/* Largest difference of sampled rows of C from their sums in double, over the largest of these. */
static double error_of(const struct bench_matrix *a, const struct bench_matrix *b,
                       const struct bench_matrix *c, int transpose_a) {
  const int64_t most = 1 << 29; /* products that the reference may take */
  int64_t rows = c->tensor.rows, sample = most / (c->tensor.cols * b->tensor.rows) + 1;
  int64_t step = rows / (sample < BENCH_SAMPLE ? sample : BENCH_SAMPLE) + 1;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < rows; i += step) {
    for (int64_t j = 0; j < c->tensor.cols; j++) {
      double sum = 0;
      for (int64_t p = 0; p < b->tensor.rows; p++)
        sum += (transpose_a ? bench_value(a, p, i) : bench_value(a, i, p)) * bench_value(b, p, j);
      largest = fmax(largest, fabs(sum));
      difference = fmax(difference, fabs(sum - bench_value(c, i, j)));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

/* matrix[0] = A, [1] = B, [2] = C = A B or A^T B. */
static int measure(struct bench *bench, struct bench_matrix *matrix, int transpose_a, int64_t width) {
  int64_t nodes = bench->options->nodes, inner = bench->options->inner;
  int64_t m = transpose_a ? inner : nodes, k = transpose_a ? nodes : inner;
  TRY(bench_matrix_init(bench, &matrix[0], nodes, inner, 1));
  TRY(bench_matrix_init(bench, &matrix[1], k, width, 2));
  TRY(bench_matrix_init(bench, &matrix[2], m, width, 3));
  struct gemm op = {.a = matrix[0].tensor, .b = matrix[1].tensor, .c = matrix[2].tensor};
  op.transpose_a = transpose_a;
  struct bench_row row = {.name = transpose_a ? "gemm^T" : "gemm"};
  row.flops = 2 * (double)m * (double)k * (double)width;
  row.bytes = (double)(tensor_bytes(op.a) + tensor_bytes(op.b) + tensor_bytes(op.c));
  snprintf(row.shape, sizeof row.shape, "%lldx%lld by %lldx%lld", (long long)m, (long long)k, (long long)k,
           (long long)width);
  TRY(bench_time(bench, run, &op, &row));
  TRY(bench_matrix_download(bench, &matrix[2]));
  row.error = error_of(&matrix[0], &matrix[1], &matrix[2], transpose_a);
  bench_print(bench, &row);
  return OK;
}

int gnnbench_gemm(struct bench *bench) {
  for (int i = 0; i < 2 * bench->options->widths; i++) {
    struct bench_matrix matrix[3] = {0};
    int code = measure(bench, matrix, i % 2, bench->options->width[i / 2]);
    for (int j = 0; j < 3; j++) bench_matrix_free(bench, &matrix[j]);
    TRY(code);
  }
  return OK;
}
