#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/ops/gemm.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"

/* The three products of a linear layer with input H [nodes, inner] and weights W [inner, width]: H W, the
 * gradient of the weights H^T dZ, and that of the input dZ W^T. */
enum which { FORWARD, WEIGHT_GRADIENT, INPUT_GRADIENT, PRODUCTS };

static const char *const names[] = {"gemm", "gemm A^T", "gemm B^T"};

/* Of an H200: GB/s of a copy; TFLOP/s by precision, where fp32 takes three products of bf16. */
static const double memory_limit = 4200;
static const double peak[] = {[PRECISION_FP32] = 790. / 3,
                              [PRECISION_FP32_STRICT] = 60,
                              [PRECISION_TF32] = 395,
                              [PRECISION_BF16] = 790,
                              [PRECISION_FP64] = 60};

/* What one row of the report owns. */
struct gemm_case {
  struct bench_matrix a, b, c, peer[3];
  struct kernels strict; /* plain fp32: cuBLAS */
  struct gemm op;
};

/* The same product by other kernels. */
struct peer_gemm {
  struct kernels *kernels;
  struct gemm op;
};

static int run(struct kernels *k, const void *op) {
  return op_gemm(k, op);
}

static int run_peer(struct kernels *k, const void *of) {
  const struct peer_gemm *peer = of;
  (void)k;
  return op_gemm(peer->kernels, &peer->op);
}

static int64_t terms_of(const struct gemm *op) {
  return op->transpose_a ? op->a.rows : op->a.cols;
}

static double term(const struct gemm_case *c, int64_t i, int64_t j, int64_t p) {
  double a = c->op.transpose_a ? bench_value(&c->a, p, i) : bench_value(&c->a, i, p);
  return a * (c->op.transpose_b ? bench_value(&c->b, j, p) : bench_value(&c->b, p, j));
}

/* Largest difference of sampled elements of C from their sums in double, over the largest of these. */
static double error_of(const struct gemm_case *c) {
  const int64_t most = 1 << 27; /* products that the reference may take */
  int64_t cols = c->op.c.cols, count = c->op.c.rows * cols, terms = terms_of(&c->op);
  int64_t sample = most / terms < BENCH_SAMPLE * cols ? most / terms + 1 : BENCH_SAMPLE * cols;
  double largest = 0, difference = 0;
  for (int64_t e = 0; e < count; e += count / sample | 1) {
    double sum = 0;
    for (int64_t p = 0; p < terms; p++) sum += term(c, e / cols, e % cols, p);
    largest = fmax(largest, fabs(sum));
    difference = fmax(difference, fabs(sum - bench_value(&c->c, e / cols, e % cols)));
  }
  return largest > 0 ? difference / largest : difference;
}

static int init(struct bench *bench, struct gemm_case *c, enum which which, int64_t width) {
  int64_t nodes = bench->options->nodes, inner = bench->options->inner;
  int gradient = which == WEIGHT_GRADIENT, input = which == INPUT_GRADIENT;
  enum dtype dtype = gradient ? bench->kernels.real : bench->kernels.dtype;
  TRY(bench_matrix_init(bench, &c->a, nodes, input ? width : inner, 1));
  TRY(bench_matrix_init(bench, &c->b, gradient ? nodes : inner, width, 2));
  TRY(bench_matrix_alloc(bench, &c->c, dtype, gradient ? inner : nodes, input ? inner : width));
  c->op = (struct gemm){.a = c->a.tensor, .b = c->b.tensor, .c = c->c.tensor};
  c->op.transpose_a = gradient;
  c->op.transpose_b = input;
  return OK;
}

static double value_of(const void *context, int64_t i, int64_t j) {
  return bench_value(context, i, j);
}

/* cuBLAS in plain fp32, from copies in fp32 where the matrices are of another type. */
static int time_peer(struct bench *bench, struct gemm_case *c, struct bench_row *row) {
  const struct bench_matrix *from[] = {&c->a, &c->b, &c->c};
  struct peer_gemm peer = {&c->strict, c->op};
  struct tensor *to[] = {&peer.op.a, &peer.op.b, &peer.op.c};
  struct bench_row own = {0};
  if (strcmp(bench->device.ops->name, "cuda") != 0 || bench->kernels.precision == PRECISION_FP32_STRICT)
    return OK;
  for (int i = 0; i < 3; i++) {
    struct tensor t = from[i]->tensor;
    if (t.dtype == F32) continue;
    TRY(bench_matrix_alloc(bench, &c->peer[i], F32, t.rows, t.cols));
    TRY(bench_matrix_fill(bench, &c->peer[i], value_of, from[i]));
    *to[i] = c->peer[i].tensor;
  }
  TRY(kernels_open(&c->strict, &bench->device, PRECISION_FP32_STRICT));
  TRY(bench_time(bench, run_peer, &peer, &own));
  row->peer = "cuBLAS fp32";
  row->peer_median = own.median;
  return OK;
}

/* The share of the limit is that of the slower of memory and arithmetic. */
static void set_limit(const struct bench *bench, struct bench_row *row) {
  double seconds = fmax(row->bytes / memory_limit / 1e9, row->flops / peak[bench->kernels.precision] / 1e12);
  if (!bench->device.ops->on_host) row->limit = row->bytes / seconds / 1e9;
}

static double bytes_of(struct tensor t) {
  return (double)t.rows * (double)t.cols * (double)dtype_bytes(t.dtype);
}

static int measure(struct bench *bench, struct gemm_case *c, enum which which, int64_t width) {
  TRY(init(bench, c, which, width));
  const struct gemm *op = &c->op;
  long long m = op->c.rows, n = op->c.cols, k = terms_of(op);
  struct bench_row row = {.name = names[which], .flops = 2 * (double)m * (double)k * (double)n};
  row.bytes = bytes_of(op->a) + bytes_of(op->b) + bytes_of(op->c);
  set_limit(bench, &row);
  snprintf(row.shape, sizeof row.shape, "%lldx%lld by %lldx%lld", m, k, k, n);
  TRY(bench_time(bench, run, op, &row));
  TRY(bench_matrix_download(bench, &c->c));
  row.error = error_of(c);
  TRY(time_peer(bench, c, &row));
  bench_print(bench, &row);
  return OK;
}

static void free_case(struct bench *bench, struct gemm_case *c) {
  kernels_close(&c->strict);
  for (int i = 0; i < 3; i++) bench_matrix_free(bench, &c->peer[i]);
  bench_matrix_free(bench, &c->a);
  bench_matrix_free(bench, &c->b);
  bench_matrix_free(bench, &c->c);
}

int gnnbench_gemm(struct bench *bench) {
  for (int i = 0; i < PRODUCTS * bench->options->widths; i++) {
    struct gemm_case c = {0};
    int code = measure(bench, &c, i % PRODUCTS, bench->options->width[i / PRODUCTS]);
    free_case(bench, &c);
    TRY(code);
  }
  return OK;
}
