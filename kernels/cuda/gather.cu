/* y_i = x[rows[i]]. */
#include "kernels/cuda/columns.cuh"

template <class VECTOR>
static __global__ void gather_kernel(const VECTOR *x, int64_t x_stride, const int32_t *rows, VECTOR *y,
                                     int64_t y_stride, int64_t count, int64_t width) {
  int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= count) return;
  const VECTOR *from = x + rows[i] * x_stride;
  VECTOR *to = y + i * y_stride;
  for (int64_t j = threadIdx.x; j < width; j += blockDim.x) to[j] = from[j];
}

template <class VECTOR>
static void gather(struct tensor x, const int32_t *rows, struct tensor y, cudaStream_t stream) {
  constexpr int64_t wide = sizeof(VECTOR) / sizeof(float);
  int64_t width = y.cols / wide;
  unsigned lanes = 1;
  while (lanes < 32 && lanes < width) lanes *= 2;
  dim3 block(lanes, BLOCK / lanes);
  gather_kernel<<<blocks_of(y.rows, block.y), block, 0, stream>>>(
      (const VECTOR *)x.data, x.stride / wide, rows, (VECTOR *)y.data, y.stride / wide, y.rows, width);
}

int cuda_gather(struct kernels *k, struct tensor x, const int32_t *rows, struct tensor y) {
  if (y.rows == 0 || y.cols == 0) return OK;
  if (cuda_is_aligned(x) && cuda_is_aligned(y) && y.cols % 4 == 0)
    gather<float4>(x, rows, y, cuda_stream(k));
  else
    gather<float>(x, rows, y, cuda_stream(k));
  TRY_LAUNCH();
  return OK;
}
