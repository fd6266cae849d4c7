/* The scalars of the next epoch. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/optimizer/optimizer_ops.h"

static __global__ void advance_kernel(struct scalars *scalars, const double *rate, int64_t rates) {
  pdl_prologue();
  if (scalars->frozen) return;
  scalars->epoch++;
  scalars->step++;
  scalars->lr = rate[scalars->epoch % rates];
}

int cuda_pdl_is_compiled(int *wait) {
  struct cudaFuncAttributes loaded = {};
  TRY_CUDA(cudaFuncGetAttributes(&loaded, advance_kernel));
  *wait = loaded.ptxVersion >= 90;
  return OK;
}

int cuda_advance(struct kernels *k, const double *rate, int64_t rates) {
  return pdl_launch(k, advance_kernel, 1, 1, 0, k->scalars, rate, rates);
}
