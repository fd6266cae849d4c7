/* The GPU's kernels. One op a file: formula, kernel, launcher; kernels/cpu is the readable reference.
 * Families of ops have folders: gemm/ (dense products), layout/ (a sparse matrix cut for the GPU, and the
 * products of its dense parts), above it spmm/ (sparse products with their ends, sums over neighbours and
 * hyperedges), above that attention/ (GAT, AGNN, SDDMM). What lies beside them is for all of them, or goes
 * row by row; open.c holds the state of all.
 *
 * Kernels that touch activations are templates over their elements, float or bf16; sums are kept in float or
 * double.
 *
 * A launcher queues work on the compute stream and returns: no op waits for the GPU or reads device memory
 * on the host. Sums over rows go in two stages whose shape depends on the matrix and the GPU's model alone,
 * so that equal inputs give equal bits. This header is read by C and by CUDA C++. */
#ifndef KERNELS_CUDA_COMMON_CUDA_H
#define KERNELS_CUDA_COMMON_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/attention.h"
#include "kernels/ops/incidence.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce.h"
#include "runtime/base/error.h"
#include "runtime/device/device_cuda.h"

/* The tables' own part of struct kernels. */
struct cuda_state {
  int multiprocessors, shared_bytes; /* of the GPU; shared memory that a block can have */
  int pdl;                           /* kernels wait by themselves for those before, see pdl.cuh */
  int has_wgmma;                     /* compute capability 9.0a, in this build too */
  struct cublaslt *cublaslt;
  struct staging *staging; /* of upload.c; NULL: none */
};

static inline cudaStream_t cuda_stream(const struct kernels *k) {
  return device_cuda_stream(k->device, STREAM_COMPUTE);
}

/* Rows of t can be read and written 16 bytes at a time. */
static inline int cuda_is_aligned(struct tensor t) {
  return t.stride * dtype_bytes(t.dtype) % 16 == 0 && (uintptr_t)t.data % 16 == 0;
}

/* After a launch: returns upward when it failed. */
#define TRY_LAUNCH() TRY_CUDA(cudaPeekAtLastError())

/* *may: whether a kernel queued now may begin before the one before it has ended; see pdl.cuh. */
int cuda_pdl_is_on(struct kernels *k, int *may);
/* Whether the kernels, as they are loaded, wait by themselves (pdl.cuh): on a GPU that could have it they
 * may still be compiled for an earlier one. */
int cuda_pdl_is_compiled(int *wait);

int cuda_open(struct kernels *k);
void cuda_close(struct kernels *k);
int cuda_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout);
int cuda_layout_share(struct kernels *k, const struct layout *from, struct layout **layout);
void cuda_layout_free(struct kernels *k, struct layout *layout);
int cuda_spmm(struct kernels *k, const struct spmm *op);
int64_t cuda_spmm_workspace(const struct spmm *op);
int cuda_gemm(struct kernels *k, const struct gemm *op);
int64_t cuda_gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols);
int cuda_gemm_repeats(const struct kernels *k, const struct gemm *op);
int cuda_gemm_fused(struct kernels *k, const struct gemm *op, int *took);
int cuda_gather(struct kernels *k, const struct gather *op);
int cuda_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
int cuda_sparse_dropout(struct kernels *k, const struct sparse_dropout *op);
int cuda_epilogue(struct kernels *k, const struct epilogue *op);
int cuda_epilogue_backward(struct kernels *k, const struct epilogue_backward *op);
int cuda_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op);
int cuda_batch_norm_stats(struct kernels *k, const struct batch_norm_stats *op);
int cuda_column_sums(struct kernels *k, const struct column_sums *op);
int cuda_column_moments(struct kernels *k, const struct column_moments *op);
int cuda_add(struct kernels *k, const struct add *op, int count);
int cuda_dot(struct kernels *k, const struct dot *op);
int cuda_cross_entropy(struct kernels *k, const struct loss_op *op);
int cuda_bce(struct kernels *k, const struct loss_op *op);
int cuda_sum_losses(struct kernels *k, const struct loss_op *op);
int cuda_accuracy(struct kernels *k, const struct score *op);
int cuda_micro_f1(struct kernels *k, const struct score *op);
int cuda_advance(struct kernels *k, const double *rate, int64_t rates);
int cuda_sum_squares(struct kernels *k, const void *x, int64_t count);
int cuda_optimizer(struct kernels *k, const struct optimizer_op *op);
int cuda_reduce(struct kernels *k, const struct reduce *op);
int cuda_reduce_backward(struct kernels *k, const struct reduce_backward *op);
int64_t cuda_attention_workspace(const struct layout *a, int64_t width, int64_t heads);
int cuda_attention(struct kernels *k, const struct attention *op);
int cuda_attention_rows(struct kernels *k, const struct attention_rows *op);
int cuda_attention_backward(struct kernels *k, const struct attention_backward *op);
int cuda_attention_terms(struct kernels *k, const struct attention_terms *op);
int cuda_attention_terms_backward(struct kernels *k, const struct attention_terms_backward *op);
int cuda_cosine_rows(struct kernels *k, const struct cosine_rows *op);
int cuda_cosine_attention(struct kernels *k, const struct cosine_attention *op);
int cuda_cosine_backward(struct kernels *k, const struct cosine_backward *op);
int cuda_cosine_epilogue(struct kernels *k, const struct cosine_epilogue *op);
int cuda_sddmm(struct kernels *k, const struct sddmm *op);
int64_t cuda_incidence_workspace(const struct kernels *k, const struct incidence_sum *op);
int cuda_incidence_sum(struct kernels *k, const struct incidence_sum *op);
int cuda_incidence_weights(struct kernels *k, const struct incidence_weights *op);
int cuda_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op);

#ifdef __cplusplus
}
#endif

#endif
