#include "kernels/cuda/spmm/spmm_windows.h"

#include "kernels/cuda/common/bf16x2_split.cuh"

/* X in two bf16 planes whose sum it is to 16 bits, side by side: what tensor cores multiply in place of
 * floats.
 */
static __global__ void __launch_bounds__(BLOCK)
    planes_kernel(const char *x, int64_t x_bytes, uint4 *to, int64_t count, uint32_t vectors) {
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count) return;
  const int64_t row = i / vectors, vector = i % vectors;
  float v[8], upper[8], lower[8];
  load((const float *)(x + row * x_bytes) + vector * 8, 8, true, v);
  bf16 *high = (bf16 *)(to + row * 2 * vectors + vector),
       *low = (bf16 *)(to + (row * 2 + 1) * vectors + vector);
#pragma unroll
  for (int j = 0; j < 8; j++) split_bf16x2(v[j], upper[j], lower[j]);
  store(high, 8, true, upper);
  store(low, 8, true, lower);
}

static int64_t vectors_of(const struct spmm *op) {
  return (op->x.cols + 7) / 8;
}

struct windows_place cuda_windows_place(const struct cuda_layout *a, const struct spmm *op) {
  struct windows_place place = {};
  if (!cuda_has_windows(a)) return place;
  place.stride = op->x.cols <= 64 ? 64 : (op->x.cols + 127) / 128 * 128;
  const int64_t row = place.stride * (int64_t)sizeof(float);
  if (op->x.dtype == F32) place.tiles = op->x.rows * vectors_of(op) * 32;
  place.condensed = place.tiles + a->tiles.pieces * TILE_ROWS * row;
  place.bytes = place.condensed + a->condensed.pieces * a->condensed.side * row;
  return place;
}

static int make_planes(struct kernels *k, const struct spmm *op, const char *x, int64_t x_bytes, char *to) {
  const uint32_t vectors = (uint32_t)vectors_of(op);
  const int64_t count = op->x.rows * vectors;
  planes_kernel<<<blocks_of(count, BLOCK), BLOCK, 0, cuda_stream(k)>>>(x, x_bytes, (uint4 *)to, count,
                                                                       vectors);
  TRY_LAUNCH();
  return OK;
}

int cuda_windows_multiply(struct kernels *k, const struct spmm *op, const char *x, int64_t x_bytes,
                          const struct windows_place *place, char *workspace) {
  const struct cuda_layout *a = cuda_layout(op->a);
  struct tensor from = {(void *)x, BF16, op->x.rows, op->x.cols, x_bytes / 2};
  int64_t plane = 0;
  if (!cuda_has_windows(a)) return OK;
  if (op->x.dtype == F32) {
    TRY(make_planes(k, op, x, x_bytes, workspace));
    plane = vectors_of(op) * 8;
    from.data = workspace;
    from.stride = 2 * plane;
  }
  TRY(cuda_tiles_multiply(k, &a->tiles, from, plane, (float *)(workspace + place->tiles), place->stride));
  return cuda_condensed_multiply(k, &a->condensed, from, plane, (float *)(workspace + place->condensed),
                                 place->stride);
}
