/* A product by cuBLASLt, whatever kernels of our own would take it. */
#ifndef KERNELS_CUDA_PEER_CUBLASLT_H
#define KERNELS_CUDA_PEER_CUBLASLT_H

#include "kernels/ops/gemm.h"
#include "kernels/ops/kernels.h"

/* op: a struct gemm without an epilogue; in the precision of the table, bf16 or floats. */
int peer_cublaslt(struct kernels *k, const void *op);

#endif
