/* C = op(A) op(B) (+ C) by cuBLASLt. It counts columns first, so it is asked for C^T = op(B)^T op(A)^T. Its
 * choice of an algorithm is made once for each shape; sums that are cut are added in fp32 and in a fixed
 * order (no reduction in place), in a workspace of this table. */
#include <stdlib.h>

#include "kernels/cuda/gemm/cublaslt.h"
#include "kernels/cuda/gemm/gemm.h"
#include "runtime/base/memory.h"

enum { PLANS = 256, WORKSPACE = 32 << 20 };

/* What distinguishes one product from another in a table. */
struct shape {
  int64_t m, n, k, a_stride, b_stride, c_stride;
  int transpose_a, transpose_b, alignment;
  enum dtype c_dtype;
};

struct plan {
  struct shape shape;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t algorithm;
};

struct cublaslt {
  cublasLtHandle_t handle;
  cublasComputeType_t compute;
  void *workspace;
  uint64_t workspace_bytes;
  struct plan *plan[PLANS];
  int plans;
};

static int check(cublasStatus_t status, const char *what) {
  if (status == CUBLAS_STATUS_SUCCESS) return OK;
  FAIL(FAILED, "cuBLAS: %s in %.60s", cublasLt.GetStatusString(status), what);
}

#define TRY_CUBLAS(call) TRY(check((call), #call))

static void plan_free(struct plan *plan) {
  if (plan->c) cublasLt.MatrixLayoutDestroy(plan->c);
  if (plan->b) cublasLt.MatrixLayoutDestroy(plan->b);
  if (plan->a) cublasLt.MatrixLayoutDestroy(plan->a);
  if (plan->product) cublasLt.MatmulDescDestroy(plan->product);
  free(plan);
}

/* Almost all products of floats have kernels of their own. */
static int is_hardly_used(const struct kernels *k) {
  const struct cuda_state *state = k->impl;
  return state->has_wgmma && k->precision == PRECISION_FP32;
}

int cuda_cublaslt_open(struct kernels *k, struct cublaslt **cublaslt) {
  TRY(cublaslt_load());
  TRY(memory_alloc(cublaslt, (int64_t)sizeof **cublaslt, "matrix products"));
  (*cublaslt)->compute = k->precision == PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  if (!is_hardly_used(k)) (*cublaslt)->workspace_bytes = WORKSPACE;
  TRY_CUBLAS(cublasLt.Create(&(*cublaslt)->handle));
  if ((*cublaslt)->workspace_bytes == 0) return OK;
  return device_alloc(k->device, WORKSPACE, &(*cublaslt)->workspace, "workspace of matrix products");
}

void cuda_cublaslt_close(struct kernels *k, struct cublaslt *cublaslt) {
  if (!cublaslt) return;
  for (int i = 0; i < cublaslt->plans; i++) plan_free(cublaslt->plan[i]);
  device_release(k->device, cublaslt->workspace);
  if (cublaslt->handle) cublasLt.Destroy(cublaslt->handle);
  free(cublaslt);
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
      .c_dtype = op->c.dtype,
  };
}

static int is_same(const struct shape *a, const struct shape *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->a_stride == b->a_stride &&
         a->b_stride == b->b_stride && a->c_stride == b->c_stride && a->transpose_a == b->transpose_a &&
         a->transpose_b == b->transpose_b && a->alignment == b->alignment && a->c_dtype == b->c_dtype;
}

/* A row-major matrix is its own transpose in columns. */
static int set_layout(cublasLtMatrixLayout_t *layout, struct tensor t) {
  TRY_CUBLAS(cublasLt.MatrixLayoutCreate(layout, t.dtype == BF16 ? CUDA_R_16BF : CUDA_R_32F, (uint64_t)t.cols,
                                         (uint64_t)t.rows, t.stride));
  return OK;
}

static int describe(const struct cublaslt *cublaslt, struct plan *plan, const struct gemm *op) {
  cublasOperation_t first = op->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = op->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  TRY_CUBLAS(cublasLt.MatmulDescCreate(&plan->product, cublaslt->compute, CUDA_R_32F));
  TRY_CUBLAS(
      cublasLt.MatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  TRY_CUBLAS(
      cublasLt.MatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
  TRY(set_layout(&plan->a, op->a));
  TRY(set_layout(&plan->b, op->b));
  return set_layout(&plan->c, op->c);
}

static int set_limits(cublasLtMatmulPreference_t limits, uint64_t workspace, int alignment) {
  static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  const uint32_t bytes = (uint32_t)alignment;
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  TRY_CUBLAS(cublasLt.MatmulPreferenceSetAttribute(limits, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                   &workspace, sizeof workspace));
  TRY_CUBLAS(cublasLt.MatmulPreferenceSetAttribute(limits, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                   &reductions, sizeof reductions));
  for (int i = 0; i < 4; i++)
    TRY_CUBLAS(cublasLt.MatmulPreferenceSetAttribute(limits, alignments[i], &bytes, sizeof bytes));
  return OK;
}

static int choose(const struct cublaslt *cublaslt, struct plan *plan) {
  cublasLtMatmulPreference_t limits = NULL;
  cublasLtMatmulHeuristicResult_t best = {0};
  int found = 0;
  TRY_CUBLAS(cublasLt.MatmulPreferenceCreate(&limits));
  int code = set_limits(limits, cublaslt->workspace_bytes, plan->shape.alignment);
  if (code == OK)
    code = check(cublasLt.MatmulAlgoGetHeuristic(cublaslt->handle, plan->product, plan->b, plan->a, plan->c,
                                                 plan->c, limits, 1, &best, &found),
                 "cublasLtMatmulAlgoGetHeuristic");
  cublasLt.MatmulPreferenceDestroy(limits);
  TRY(code);
  if (found == 0)
    FAIL(FAILED, "cuBLAS: no algorithm for a product of %lldx%lld by %lldx%lld", (long long)plan->shape.m,
         (long long)plan->shape.k, (long long)plan->shape.k, (long long)plan->shape.n);
  plan->algorithm = best.algo;
  return OK;
}

/* The oldest plan makes room when there are too many. */
static int find_plan(struct cublaslt *cublaslt, const struct gemm *op, struct plan **found) {
  struct shape shape = shape_of(op);
  struct plan *plan = NULL;
  for (int i = 0; i < cublaslt->plans; i++) {
    *found = cublaslt->plan[i];
    if (is_same(&cublaslt->plan[i]->shape, &shape)) return OK;
  }
  TRY(memory_alloc(&plan, (int64_t)sizeof *plan, "plan of a matrix product"));
  plan->shape = shape;
  int code = describe(cublaslt, plan, op);
  if (code == OK) code = choose(cublaslt, plan);
  if (code != OK) {
    plan_free(plan);
    return code;
  }
  if (cublaslt->plans == PLANS) {
    plan_free(cublaslt->plan[0]);
    cublaslt->plan[0] = cublaslt->plan[--cublaslt->plans];
  }
  *found = cublaslt->plan[cublaslt->plans++] = plan;
  return OK;
}

int cuda_gemm_cublaslt(struct kernels *k, const struct gemm *op) {
  struct cublaslt *cublaslt = ((struct cuda_state *)k->impl)->cublaslt;
  struct plan *plan = NULL;
  const float alpha = op->factor ? (float)*op->factor : 1, beta = op->accumulate ? 1 : 0;
  TRY(find_plan(cublaslt, op, &plan));
  TRY_CUBLAS(cublasLt.Matmul(cublaslt->handle, plan->product, &alpha, op->b.data, plan->b, op->a.data,
                             plan->a, &beta, op->c.data, plan->c, op->c.data, plan->c, &plan->algorithm,
                             cublaslt->workspace, cublaslt->workspace_bytes, cuda_stream(k)));
  return OK;
}
