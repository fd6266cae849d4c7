/* out_j = sum_p partial_pj, in an order that depends on the number of parts alone. */
#include "kernels/cuda/partials.cuh"

static __global__ void add_partials_kernel(const double *partial, int64_t parts, int64_t cols, float *out) {
  __shared__ double shared[BLOCK / 32][32];
  int64_t j = (int64_t)blockIdx.x * 32 + threadIdx.x;
  double sum = 0;
  for (int64_t p = threadIdx.y; p < parts; p += blockDim.y) sum += j < cols ? partial[p * cols + j] : 0;
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || j >= cols) return;
  for (unsigned r = 1; r < blockDim.y; r++) sum += shared[r][threadIdx.x];
  out[j] = (float)sum;
}

int cuda_add_partials(struct kernels *k, const double *partial, int64_t parts, int64_t cols, float *out) {
  if (cols == 0) return OK;
  add_partials_kernel<<<blocks_of(cols, 32), dim3(32, BLOCK / 32), 0, cuda_stream(k)>>>(partial, parts, cols,
                                                                                        out);
  TRY_LAUNCH();
  return OK;
}
