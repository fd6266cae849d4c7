/* C = op(A) op(B) (+ C) by cuBLASLt. It counts columns first, so it is asked for C^T = op(B)^T op(A)^T. Its
 * choice of an algorithm is made once for each shape; sums that are cut are added in a fixed order (no
 * reduction in place), in a workspace of this table. */
#include <cublasLt.h>
#include <stdlib.h>

#include "kernels/cuda/cuda.h"
#include "runtime/memory.h"

enum { PLANS = 256, WORKSPACE = 64 << 20 };

/* What distinguishes one product from another. */
struct shape {
  int64_t m, n, k, a_stride, b_stride, c_stride;
  int transpose_a, transpose_b, alignment;
};

struct plan {
  struct shape shape;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t algorithm;
};

/* The table's own part of struct kernels. */
struct gemms {
  cublasLtHandle_t handle;
  void *workspace;
  struct plan *plan[PLANS];
  int plans;
};

static int check(cublasStatus_t status, const char *what) {
  if (status == CUBLAS_STATUS_SUCCESS) return OK;
  FAIL(FAILED, "cuBLAS: %s in %.60s", cublasLtGetStatusString(status), what);
}

#define TRY_CUBLAS(call) TRY(check((call), #call))

static void plan_free(struct plan *plan) {
  if (plan->c) cublasLtMatrixLayoutDestroy(plan->c);
  if (plan->b) cublasLtMatrixLayoutDestroy(plan->b);
  if (plan->a) cublasLtMatrixLayoutDestroy(plan->a);
  if (plan->product) cublasLtMatmulDescDestroy(plan->product);
  free(plan);
}

int cuda_open(struct kernels *k) {
  struct gemms *gemms = NULL;
  TRY(memory_alloc(&gemms, (int64_t)sizeof *gemms, "matrix products"));
  k->impl = gemms;
  TRY_CUBLAS(cublasLtCreate(&gemms->handle));
  return device_alloc(k->device, WORKSPACE, &gemms->workspace, "workspace of matrix products");
}

void cuda_close(struct kernels *k) {
  struct gemms *gemms = k->impl;
  if (!gemms) return;
  for (int i = 0; i < gemms->plans; i++) plan_free(gemms->plan[i]);
  device_release(k->device, gemms->workspace);
  if (gemms->handle) cublasLtDestroy(gemms->handle);
  free(gemms);
  k->impl = NULL;
}

/* Bytes, at most 256, by which all three addresses can be divided. */
static int alignment_of(const struct gemm *op) {
  uintptr_t all = (uintptr_t)op->a.data | (uintptr_t)op->b.data | (uintptr_t)op->c.data | 256;
  return (int)(all & -all);
}

static struct shape shape_of(const struct gemm *op) {
  return (struct shape){
      .m = op->c.rows,
      .n = op->c.cols,
      .k = op->transpose_a ? op->a.rows : op->a.cols,
      .a_stride = op->a.stride,
      .b_stride = op->b.stride,
      .c_stride = op->c.stride,
      .transpose_a = op->transpose_a,
      .transpose_b = op->transpose_b,
      .alignment = alignment_of(op),
  };
}

static int is_same(const struct shape *a, const struct shape *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->a_stride == b->a_stride &&
         a->b_stride == b->b_stride && a->c_stride == b->c_stride && a->transpose_a == b->transpose_a &&
         a->transpose_b == b->transpose_b && a->alignment == b->alignment;
}

/* A row-major matrix is its own transpose in columns. */
static int describe(struct plan *plan, const struct gemm *op) {
  cublasOperation_t first = op->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = op->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  struct tensor a = op->a, b = op->b, c = op->c;
  TRY_CUBLAS(cublasLtMatmulDescCreate(&plan->product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  TRY_CUBLAS(
      cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  TRY_CUBLAS(
      cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
  TRY_CUBLAS(cublasLtMatrixLayoutCreate(&plan->a, CUDA_R_32F, (uint64_t)a.cols, (uint64_t)a.rows, a.stride));
  TRY_CUBLAS(cublasLtMatrixLayoutCreate(&plan->b, CUDA_R_32F, (uint64_t)b.cols, (uint64_t)b.rows, b.stride));
  TRY_CUBLAS(cublasLtMatrixLayoutCreate(&plan->c, CUDA_R_32F, (uint64_t)c.cols, (uint64_t)c.rows, c.stride));
  return OK;
}

static int set_limits(cublasLtMatmulPreference_t limits, int alignment) {
  static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  const uint64_t workspace = WORKSPACE;
  const uint32_t bytes = (uint32_t)alignment;
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  TRY_CUBLAS(cublasLtMatmulPreferenceSetAttribute(limits, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace, sizeof workspace));
  TRY_CUBLAS(cublasLtMatmulPreferenceSetAttribute(limits, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                  &reductions, sizeof reductions));
  for (int i = 0; i < 4; i++)
    TRY_CUBLAS(cublasLtMatmulPreferenceSetAttribute(limits, alignments[i], &bytes, sizeof bytes));
  return OK;
}

static int choose(const struct gemms *gemms, struct plan *plan) {
  cublasLtMatmulPreference_t limits = NULL;
  cublasLtMatmulHeuristicResult_t best = {0};
  int found = 0;
  TRY_CUBLAS(cublasLtMatmulPreferenceCreate(&limits));
  int code = set_limits(limits, plan->shape.alignment);
  if (code == OK)
    code = check(cublasLtMatmulAlgoGetHeuristic(gemms->handle, plan->product, plan->b, plan->a, plan->c,
                                                plan->c, limits, 1, &best, &found),
                 "cublasLtMatmulAlgoGetHeuristic");
  cublasLtMatmulPreferenceDestroy(limits);
  TRY(code);
  if (found == 0)
    FAIL(FAILED, "cuBLAS: no algorithm for a product of %lldx%lld by %lldx%lld", (long long)plan->shape.m,
         (long long)plan->shape.k, (long long)plan->shape.k, (long long)plan->shape.n);
  plan->algorithm = best.algo;
  return OK;
}

/* The oldest plan makes room when there are too many. */
static int find_plan(struct gemms *gemms, const struct gemm *op, struct plan **found) {
  struct shape shape = shape_of(op);
  struct plan *plan = NULL;
  for (int i = 0; i < gemms->plans; i++) {
    *found = gemms->plan[i];
    if (is_same(&gemms->plan[i]->shape, &shape)) return OK;
  }
  TRY(memory_alloc(&plan, (int64_t)sizeof *plan, "plan of a matrix product"));
  plan->shape = shape;
  int code = describe(plan, op);
  if (code == OK) code = choose(gemms, plan);
  if (code != OK) {
    plan_free(plan);
    return code;
  }
  if (gemms->plans == PLANS) {
    plan_free(gemms->plan[0]);
    gemms->plan[0] = gemms->plan[--gemms->plans];
  }
  *found = gemms->plan[gemms->plans++] = plan;
  return OK;
}

static int multiply(struct kernels *k, const struct gemm *op) {
  struct gemms *gemms = k->impl;
  struct plan *plan = NULL;
  const float one = 1, beta = op->accumulate ? 1 : 0;
  if (op->c.rows == 0 || op->c.cols == 0) return OK;
  if ((op->transpose_a ? op->a.rows : op->a.cols) == 0) {
    if (op->accumulate) return OK;
    TRY_CUDA(cudaMemset2DAsync(op->c.data, (size_t)op->c.stride * sizeof one, 0,
                               (size_t)op->c.cols * sizeof one, (size_t)op->c.rows, cuda_stream(k)));
    return OK;
  }
  TRY(find_plan(gemms, op, &plan));
  TRY_CUBLAS(cublasLtMatmul(gemms->handle, plan->product, &one, op->b.data, plan->b, op->a.data, plan->a,
                            &beta, op->c.data, plan->c, op->c.data, plan->c, &plan->algorithm,
                            gemms->workspace, WORKSPACE, cuda_stream(k)));
  return OK;
}

int cuda_gemm(struct kernels *k, const struct gemm *op) {
  TRY(multiply(k, op));
  if (op->backward) return cuda_update_backward(k, op->backward);
  return op->update ? cuda_update(k, op->update) : OK;
}
