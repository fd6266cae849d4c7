/* Matrix products on the GPU: gemm_op.c chooses between seven ways.
 *
 * C = A B with A tall and B small: "bulk" for bf16 and "ring" for floats, whose rows come by bulk copies,
 * where matrices are aligned and the end of a layer is one of the usual ones, also two products in one; else
 * "rows", of any type and alignment and with any end, element by element. C = A^T B, both tall (gradients of
 * weights): "sums", cut over the rows and added in order, by bulk copies too where these can bring both; or
 * "along" with a product that reads the same rows. "next": C = A B, and from its rows as they leave the
 * product that the layer above begins with. All else: "library", cuBLASLt.
 *
 * All but the last use the tensor cores of compute capability 9.0a: bf16 as it is, float in pieces
 * (gemm_split.cuh, gemm_wgmma.cuh). */
#ifndef KERNELS_CUDA_GEMM_GEMM_H
#define KERNELS_CUDA_GEMM_GEMM_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = A op(B) (+ A2 op(B2)) with op->update, or op->backward, where they have no norm, or a batch norm's way
 * back; or op->moments. *took: bulk copies can serve it, and do; else nothing is done. */
int cuda_gemm_bulk(struct kernels *k, const struct gemm *op, int *took);
/* The same of floats. */
int cuda_gemm_ring(struct kernels *k, const struct gemm *op, int *took);
/* The same of any matrices, of one product. */
int cuda_gemm_rows_f32(struct kernels *k, const struct gemm *op);
int cuda_gemm_rows_bf16(struct kernels *k, const struct gemm *op);
/* As these two, with gradients of weights from the same rows: of struct kernel_ops. */
int cuda_gemm_bulk_along(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_ring_along(struct kernels *k, const struct gemm *op, int *took);
/* C = A B with op->update, and op->next from C's rows as they leave. */
int cuda_gemm_bulk_next(struct kernels *k, const struct gemm *op, int *took);
int cuda_gemm_ring_next(struct kernels *k, const struct gemm *op, int *took);
/* C = A^T B. */
int cuda_gemm_sums(struct kernels *k, const struct gemm *op);
/* C = op(A) op(B) in the table's precision; neither update nor backward. */
int cuda_gemm_library(struct kernels *k, const struct gemm *op);

/* *same: both ways give the same bits. Errors: those of the products. */
int cuda_gemm_check(struct kernels *k, int *same);

int cuda_library_open(struct kernels *k, struct library **library);
void cuda_library_close(struct kernels *k, struct library *library); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
