#include "kernels/ops/gemm.h"
#include "launch/bench/bench.h"
#ifdef GNNTRAIN_HAVE_CUBLASLT
#include "kernels/cuda/peer_cublaslt.h"
#endif

/* The three products of a linear layer with input H [nodes, inner] and weights W [inner, width]: H W, the
 * gradient of the weights H^T dZ, and that of the input dZ W^T. */
enum which { FORWARD, WEIGHT_GRADIENT, INPUT_GRADIENT, PRODUCTS };

static const char *const names[] = {"gemm", "gemm A^T", "gemm B^T"};

/* TFLOP/s of an H200 by precision, where fp32 takes three products of bf16. */
static const double peak[] = {[PRECISION_FP32] = 790. / 3,
                              [PRECISION_FP32_STRICT] = 60,
                              [PRECISION_TF32] = 395,
                              [PRECISION_BF16] = 790,
                              [PRECISION_FP64] = 60};

struct gemm_case {
  struct bench_matrix a, b, c;
  struct gemm op;
};

BENCH_RUN(gemm)

static int64_t terms_of(const struct gemm *op) {
  return op->transpose_a ? op->a.rows : op->a.cols;
}

static void product_row(const void *context, int64_t i, double *row) {
  const struct gemm_case *c = context;
  for (int64_t p = 0; p < terms_of(&c->op); p++) {
    double a = c->op.transpose_a ? bench_value(&c->a, p, i) : bench_value(&c->a, i, p);
    for (int64_t j = 0; j < c->op.c.cols; j++)
      row[j] += a * (c->op.transpose_b ? bench_value(&c->b, j, p) : bench_value(&c->b, p, j));
  }
}

static int init(struct bench *bench, struct gemm_case *c, enum which which, int64_t width) {
  int64_t nodes = bench->options->nodes, inner = bench->options->inner;
  int gradient = which == WEIGHT_GRADIENT, input = which == INPUT_GRADIENT;
  enum dtype dtype = bench->kernels.dtype;
  TRY(bench_matrix_noise(bench, &c->a, dtype, nodes, input ? width : inner, 1));
  TRY(bench_matrix_noise(bench, &c->b, dtype, gradient ? nodes : inner, width, 2));
  TRY(bench_matrix_alloc(bench, &c->c, gradient ? bench->kernels.real : dtype, gradient ? inner : nodes,
                         input ? inner : width));
  c->op = (struct gemm){.a = c->a.tensor, .b = c->b.tensor, .c = c->c.tensor};
  c->op.transpose_a = gradient;
  c->op.transpose_b = input;
  return OK;
}

/* cuBLASLt on the same matrices of bf16. */
static int time_cublaslt(struct bench *bench, const struct gemm_case *c, struct bench_row *row) {
#ifdef GNNTRAIN_HAVE_CUBLASLT
  struct bench_row own = {0};
  TRY(bench_time(bench, peer_cublaslt, &c->op, &own));
  row->peer = "cuBLASLt bf16";
  row->peer_median = own.median;
#else
  (void)bench, (void)c, (void)row;
#endif
  return OK;
}

/* cuBLAS in plain fp32, from copies in fp32 where the matrices are of another type. */
static int time_peer(struct bench *bench, const struct gemm_case *c, struct bench_row *row) {
  struct kernels kept = bench->kernels;
  struct gemm op = c->op;
  struct bench_row own = {0};
  if (strcmp(bench->device.ops->name, "cuda") != 0 || kept.precision == PRECISION_FP32_STRICT) return OK;
  if (kept.precision == PRECISION_BF16) return time_cublaslt(bench, c, row);
  TRY(bench_matrix_floats(bench, &c->a, &op.a));
  TRY(bench_matrix_floats(bench, &c->b, &op.b));
  TRY(bench_matrix_floats(bench, &c->c, &op.c));
  int code = kernels_open(&bench->kernels, &bench->device, PRECISION_FP32_STRICT);
  if (code == OK) code = bench_time(bench, run_gemm, &op, &own);
  kernels_close(&bench->kernels);
  bench->kernels = kept;
  row->peer = "cuBLAS fp32";
  row->peer_median = own.median;
  return code;
}

static double bytes_of(struct tensor t) {
  return (double)t.rows * (double)t.cols * (double)dtype_bytes(t.dtype);
}

static int measure(struct bench *bench, enum which which, int64_t width) {
  struct gemm_case c = {0};
  const struct gemm *op = &c.op;
  TRY(init(bench, &c, which, width));
  long long m = op->c.rows, n = op->c.cols, k = terms_of(op), most = 1 << 27;
  double bytes = bytes_of(op->a) + bytes_of(op->b) + bytes_of(op->c),
         flops = 2 * (double)m * (double)k * (double)n;
  /* The share of the limit is that of the slower of memory and arithmetic. */
  double seconds = fmax(bytes / BENCH_COPY_LIMIT / 1e9, flops / peak[bench->kernels.precision] / 1e12);
  struct bench_row row = bench_row_of(bench, names[which], bytes / seconds / 1e9, "%lldx%lld by %lldx%lld", m,
                                      k, k, n);
  row.bytes = bytes;
  row.flops = flops;
  TRY(time_peer(bench, &c, &row));
  /* As many rows as the reference may take products for. */
  int64_t sample = most / (k * n) < BENCH_SAMPLE ? most / (k * n) + 1 : BENCH_SAMPLE;
  return bench_measure(bench, &row, run_gemm, op, &(struct bench_check){&c.c, product_row, &c, sample});
}

static int measure_all(struct bench *bench, void *of, int64_t width) {
  (void)of;
  for (int which = 0; which < PRODUCTS; which++) {
    int first = bench->owned_count, code = measure(bench, (enum which)which, width);
    bench_forget(bench, first);
    TRY(code);
  }
  return OK;
}

int gnnbench_gemm(struct bench *bench) {
  return bench_each_width(bench, measure_all, NULL);
}
