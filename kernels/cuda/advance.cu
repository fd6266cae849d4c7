/* The scalars of the next epoch. */
#include "kernels/cuda/columns.cuh"

static __global__ void advance_kernel(struct scalars *scalars, const double *rate, int64_t rates) {
  if (scalars->frozen) return;
  scalars->epoch++;
  scalars->step++;
  scalars->lr = rate[scalars->epoch % rates];
}

int cuda_advance(struct kernels *k, const double *rate, int64_t rates) {
  advance_kernel<<<1, 1, 0, cuda_stream(k)>>>(k->scalars, rate, rates);
  TRY_LAUNCH();
  return OK;
}
