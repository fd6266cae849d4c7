/* cuBLASLt, loaded when a GPU is opened. Linked to a program it would be loaded at each start, which takes 70
 * ms of a processor, three times as long as all else that happens there; and most starts open no GPU. */
#ifndef KERNELS_CUDA_GEMM_CUBLASLT_H
#define KERNELS_CUDA_GEMM_CUBLASLT_H

#include <cublasLt.h>

/* Its functions without their prefix: cublasLt.Create is cublasLtCreate. */
#define CUBLASLT_CALLS(X)         \
  X(Create)                       \
  X(Destroy)                      \
  X(GetStatusString)              \
  X(Matmul)                       \
  X(MatmulAlgoGetHeuristic)       \
  X(MatmulDescCreate)             \
  X(MatmulDescDestroy)            \
  X(MatmulDescSetAttribute)       \
  X(MatmulPreferenceCreate)       \
  X(MatmulPreferenceDestroy)      \
  X(MatmulPreferenceSetAttribute) \
  X(MatrixLayoutCreate)           \
  X(MatrixLayoutDestroy)

#define CUBLASLT_CALL(name) __typeof__(cublasLt##name) *name;
extern struct cublaslt_calls { CUBLASLT_CALLS(CUBLASLT_CALL) } cublasLt;
#undef CUBLASLT_CALL

/* Fills cublasLt, once; the library stays. Errors: it is not there, or lacks a function. */
int cublaslt_load(void);

#endif
