/* Matrix products on the GPU: gemm_op.c chooses between five ways.
 *
 * C = A B with A tall: "tma", whose rows come by bulk copies, also two products in one, where B fits into
 * shared memory; else "rows", through which B streams along. Both take the usual epilogues of a layer along;
 * the others are a pass of their own, which costs no more (decision 044). "chained": C = A B, and from
 * its rows as they leave the product that the layer above begins with. C = A^T B, both tall (gradients of
 * weights): "wgrad" with a product that reads the same rows; or "splitk", cut over the rows and added in
 * order. All else: "cublaslt".
 *
 * All but the last use the tensor cores of compute capability 9.0a: bf16 as it is, float in pieces
 * (gemm_split.cuh, gemm_wgmma.cuh). tma, rows and chained are one kernel each for both types. */
#ifndef KERNELS_CUDA_GEMM_GEMM_H
#define KERNELS_CUDA_GEMM_GEMM_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/gemm.h"

/* C = A op(B) (+ A2 op(B2)) with op->epilogue, or op->backward, where they have no norm, or a batch norm's
 * way back; or op->moments. *took: bulk copies can serve it, and do; else nothing is done. */
int cuda_gemm_tma_f32(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_tma_bf16(struct kernels *k, const struct gemm *op, int *took);
/* The same of one product, C += too where there is no epilogue; A and what the epilogue reads and writes are
 * aligned. */
int cuda_gemm_rows_f32(struct kernels *k, const struct gemm *op);
int cuda_gemm_rows_bf16(struct kernels *k, const struct gemm *op);
/* As tma, with gradients of weights from the same rows: of struct kernel_ops. */
int cuda_gemm_tma_f32_wgrad(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_tma_bf16_wgrad(struct kernels *k, const struct gemm *op, int *took);
/* C = A B with op->epilogue, and op->chained from C's rows as they leave. */
int cuda_gemm_tma_f32_chained(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_tma_bf16_chained(struct kernels *k, const struct gemm *op, int *took);
/* C = A^T B. *took as above: where A and B are aligned; of bf16 one of them has at most 64 columns. */
int cuda_gemm_tma_f32_splitk(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_tma_bf16_splitk(struct kernels *k, const struct gemm *op, int *took);
/* Whether kernels of products have code for the epilogue; else it is a pass of its own. True without one. */
int cuda_gemm_takes_epilogue(const struct kernels *k, const struct gemm *op);
/* C = op(A) op(B) in the table's precision; neither epilogue nor backward. */
int cuda_gemm_cublaslt(struct kernels *k, const struct gemm *op);

/* *same: both ways give the same bits. Errors: those of the products. */
int cuda_gemm_check(struct kernels *k, int *same);

int cuda_cublaslt_open(struct kernels *k, struct cublaslt **cublaslt);
void cuda_cublaslt_close(struct kernels *k, struct cublaslt *cublaslt); /* NULL is fine */

/* The ops of kernels/ops/gemm.h. */
int cuda_gemm(struct kernels *k, const struct gemm *op);
int64_t cuda_gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols);
int cuda_gemm_fused(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_repeats(const struct kernels *k, const struct gemm *op);

#ifdef __cplusplus
}
#endif

#endif
