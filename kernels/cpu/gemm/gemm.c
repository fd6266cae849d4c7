/* C = op(A) op(B) (+ A2 op(B2)) (+ C): OpenBLAS on one thread, called from ours. Rows of C are cut over the
 * threads; a product of two tall matrices (weight gradients) is cut over the sum instead, and its parts, of
 * which the library sums no more than TERMS at a time, are added in double and in order. */
#include <cblas.h>

#include "kernels/cpu/elementwise/elementwise_ops.h"
#include "kernels/ops/gemm.h"
#include "runtime/base/base.h"
#include "runtime/base/limits.h"

#if REAL_IS_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

enum { TERMS = REAL_IS_DOUBLE ? 1 << 30 : 1024 }; /* floats lose digits in longer sums */

struct product {
  int64_t m, n, k;
  const real *a, *b;
  real *c;
  int64_t a_stride, b_stride, c_stride;
  int transpose_a, transpose_b, accumulate;
  real factor;
};

static struct product product_of(const struct gemm *op) {
  return (struct product){
      .m = op->c.rows,
      .n = op->c.cols,
      .k = op->transpose_a ? op->a.rows : op->a.cols,
      .a = op->a.data,
      .b = op->b.data,
      .c = op->c.data,
      .a_stride = op->a.stride,
      .b_stride = op->b.stride,
      .c_stride = op->c.stride,
      .transpose_a = op->transpose_a,
      .transpose_b = op->transpose_b,
      .accumulate = op->accumulate,
      .factor = op->factor ? (real)*op->factor : 1,
  };
}

/* Threads worth waking for it: a multiplication is cheaper than an element of other kernels. */
static int threads_of(const struct kernels *k, const struct product *p) {
  return threads_for(k, p->m * p->n * p->k / 8);
}

static void multiply(const struct product *p) {
  if (p->m == 0 || p->n == 0) return;
  if (p->k == 0) {
    for (int64_t i = 0; i < p->m && !p->accumulate; i++)
      memset(p->c + i * p->c_stride, 0, (size_t)p->n * sizeof(real));
    return;
  }
  cblas_gemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
             p->transpose_b ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n, (blasint)p->k,
             p->factor, p->a, (blasint)p->a_stride, p->b, (blasint)p->b_stride, p->accumulate ? 1 : 0, p->c,
             (blasint)p->c_stride);
}

/* Part i of the rows of C. */
static struct product rows_of_c(struct product p, int parts, int i) {
  int64_t first = part_first(p.m, parts, i);
  p.m = part_first(p.m, parts, i + 1) - first;
  p.a += first * (p.transpose_a ? 1 : p.a_stride);
  p.c += first * p.c_stride;
  return p;
}

/* Terms [first, end) of the sum over k, into a block of their own. */
static struct product terms_of_sum(struct product p, int64_t first, int64_t end, real *block) {
  p.k = end - first;
  p.a += first * (p.transpose_a ? p.a_stride : 1);
  p.b += first * (p.transpose_b ? 1 : p.b_stride);
  p.c = block;
  p.c_stride = p.n;
  p.accumulate = 0;
  return p;
}

/* Part i of the sum. block: scratch; both [m, n]. */
static void sum_part(const struct product *p, int parts, int i, double *sum, real *block) {
  const int64_t end = part_first(p->k, parts, i + 1);
  memset(sum, 0, (size_t)(p->m * p->n) * sizeof *sum);
  for (int64_t first = part_first(p->k, parts, i); first < end; first += TERMS) {
    const struct product terms = terms_of_sum(*p, first, end - first < TERMS ? end : first + TERMS, block);
    multiply(&terms);
    for (int64_t j = 0; j < p->m * p->n; j++) sum[j] += block[j];
  }
}

static void add_parts(const struct product *p, const double *part, int parts) {
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) {
      double sum = p->accumulate ? (double)p->c[i * p->c_stride + j] : 0;
      for (int q = 0; q < parts; q++) sum += part[(q * p->m + i) * p->n + j];
      p->c[i * p->c_stride + j] = (real)sum;
    }
  }
}

static int multiply_by_terms(struct kernels *k, const struct product *p) {
  const int parts = k->device->threads;
  const int64_t size = p->m * p->n;
  double *sum = NULL;
  if (size == 0) return OK;
  TRY(kernels_workspace(k, parts * size * (int64_t)(sizeof(double) + sizeof(real)), (void **)&sum));
  real *block = (real *)(sum + parts * size);
#pragma omp parallel for num_threads(threads_of(k, p)) schedule(static, 1)
  for (int i = 0; i < parts; i++) sum_part(p, parts, i, sum + i * size, block + i * size);
  add_parts(p, sum, parts);
  return OK;
}

static int multiply_by_rows(struct kernels *k, const struct product *p) {
  int parts = k->device->threads;
#pragma omp parallel for num_threads(threads_of(k, p)) schedule(static, 1)
  for (int i = 0; i < parts; i++) {
    struct product part = rows_of_c(*p, parts, i);
    multiply(&part);
  }
  return OK;
}

/* C += A2 op(B2) */
static int add_second(struct kernels *k, const struct gemm *op) {
  struct gemm second = *op;
  second.a = op->a2;
  second.b = op->b2;
  second.accumulate = 1;
  struct product p = product_of(&second);
  return multiply_by_rows(k, &p);
}

static int end_backward(struct kernels *k, const struct gemm *op) {
  TRY(REAL(cpu_epilogue_backward)(k, op->backward));
  return op->norm ? REAL(cpu_batch_norm_backward)(k, op->norm) : OK;
}

/* OpenBLAS maps a buffer for each multiplication that is under way, keeps it, and asks for ever for one that
 * it does not get: it takes them all at once, while there is nothing else that could take their place. */
void *blas_memory_alloc(int) __attribute__((weak));
void blas_memory_free(void *) __attribute__((weak));

int REAL(cpu_open)(struct kernels *k) {
  enum { BUFFER_BYTES = 128 << 20, MOST = 64 };
  static int taken;
  void *buffer[MOST];
  int count = k->device->threads < MOST ? k->device->threads : MOST;
  if (count <= taken) return OK;
  TRY(limits_memory(BUFFER_BYTES, count, "OpenBLAS"));
  if (!blas_memory_alloc || !blas_memory_free) return OK;
  for (int i = 0; i < count; i++) buffer[i] = blas_memory_alloc(0);
  for (int i = 0; i < count; i++) blas_memory_free(buffer[i]);
  taken = count;
  return OK;
}

static int cpu_gemm(struct kernels *k, const struct gemm *op) {
  struct product p = product_of(op);
  int tall = p.transpose_a && p.k > p.m && (k->device->threads > 1 || p.k > TERMS);
  openblas_set_num_threads(1);
  TRY(tall ? multiply_by_terms(k, &p) : multiply_by_rows(k, &p));
  if (op->a2.data) TRY(add_second(k, op));
  if (op->backward) return end_backward(k, op);
  if (op->moments) return REAL(cpu_column_moments)(k, op->moments);
  return op->epilogue ? REAL(cpu_epilogue)(k, op->epilogue) : OK;
}

const struct gemm_ops REAL(cpu_gemm_ops) = {
    .gemm = cpu_gemm,
};
