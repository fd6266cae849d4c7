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

#include "kernels/ops/epilogue.h"
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

/* The families of ops, each in its folder. */
extern const struct attention_ops cuda_attention_ops;
extern const struct elementwise_ops cuda_elementwise_ops;
extern const struct gemm_ops cuda_gemm_ops;
extern const struct incidence_ops cuda_incidence_ops;
extern const struct loss_ops cuda_loss_ops;
extern const struct optimizer_ops cuda_optimizer_ops;
extern const struct reduce_ops cuda_reduce_ops;
extern const struct sparse_ops cuda_sparse_ops;

#ifdef __cplusplus
}
#endif

#endif
