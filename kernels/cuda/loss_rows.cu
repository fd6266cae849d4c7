/* loss = scale sum_p partial_p, by one block. */
#include "kernels/cuda/loss_rows.cuh"
#include "kernels/cuda/totals.cuh"

static __global__ void add_losses_kernel(const double *partial, int64_t parts, double scale, double *loss) {
  double sum = 0;
  for (int64_t p = threadIdx.x; p < parts; p += BLOCK) sum += partial[p];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *loss = scale * sum;
}

int cuda_add_losses(struct kernels *k, const double *partial, int64_t parts, double scale, double *loss) {
  add_losses_kernel<<<1, BLOCK, 0, cuda_stream(k)>>>(partial, parts, scale, loss);
  TRY_LAUNCH();
  return OK;
}
