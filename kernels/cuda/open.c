/* The state that the GPU's tables keep while they are open: what the GPU can do, cuBLASLt, pinned memory. */
#include <stdlib.h>

#include "kernels/cuda/common/upload.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/layout/tiles.h"
#include "runtime/base/log.h"
#include "runtime/base/memory.h"

static int read_limits(struct cuda_state *state) {
  int gpu = 0;
  TRY_CUDA(cudaGetDevice(&gpu));
  TRY_CUDA(cudaDeviceGetAttribute(&state->multiprocessors, cudaDevAttrMultiProcessorCount, gpu));
  TRY_CUDA(cudaDeviceGetAttribute(&state->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu));
  TRY(cuda_pdl_is_compiled(&state->pdl));
  state->has_wgmma = cuda_has_tiles();
  return OK;
}

/* Products by wgmma are trusted once they have agreed with cuBLASLt's here. */
static int check_products(struct kernels *k) {
  struct cuda_state *state = k->impl;
  int same = 0;
  if (!state->has_wgmma || (k->precision != PRECISION_FP32 && k->precision != PRECISION_BF16)) return OK;
  TRY(cuda_gemm_check(k, &same));
  if (same) return OK;
  log_warn("products by wgmma differ from cuBLAS on this GPU: cuBLAS does them, which takes longer");
  state->has_wgmma = 0;
  cuda_cublaslt_close(k, state->cublaslt);
  state->cublaslt = NULL;
  return cuda_cublaslt_open(k, &state->cublaslt);
}

int cuda_open(struct kernels *k) {
  struct cuda_state *state = NULL;
  TRY(memory_alloc(&state, (int64_t)sizeof *state, "state of the GPU's kernels"));
  k->impl = state;
  TRY(read_limits(state));
  cuda_staging_open(k, &state->staging);
  TRY(cuda_cublaslt_open(k, &state->cublaslt));
  return check_products(k);
}

void cuda_close(struct kernels *k) {
  struct cuda_state *state = k->impl;
  if (!state) return;
  cuda_cublaslt_close(k, state->cublaslt);
  cuda_staging_close(state->staging);
  free(state);
  k->impl = NULL;
}
