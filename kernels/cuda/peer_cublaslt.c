#include "kernels/cuda/peer_cublaslt.h"

#include "kernels/cuda/gemm/gemm.h"

int peer_cublaslt(struct kernels *k, const void *op) {
  return cuda_gemm_cublaslt(k, op);
}
