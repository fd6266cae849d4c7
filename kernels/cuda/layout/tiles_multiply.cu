/* Tiles times X. A block computes one window of 128 rows by COLUMNS columns: two groups of four warps hold 64
 * rows each as accumulators of wgmma. Rows of X come to shared memory by bulk tensor copies, 64 at a time,
 * through a ring of STAGES, and serve both groups. A tile's bits go from one word a thread to bf16 pairs of
 * {0, 2} by a shift and an AND: that is the A operand, in registers; the sums are halved at the end. X in two
 * bf16 planes (hi + mid) makes products with a binary matrix as exact as fp32 at fp32's bytes. Weights go to
 * the places of their bits instead, rounded to bf16 or, for floats, in two planes as well. */
#include "kernels/cuda/layout/tiles_window.cuh"

template <class SHAPE>
static __global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    tiles_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ struct product op) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  multiply_window<SHAPE>(x, op);
#endif
}

int cuda_has_tiles(void) {
#ifdef GNNTRAIN_HAVE_SM90A
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return major == 9 && minor == 0;
#else
  return 0;
#endif
}

template <class SHAPE>
static int launch(struct kernels *k, const struct cuda_tiles *tiles, const CUtensorMap *x,
                  const struct product *op, int64_t width) {
  constexpr int bytes = SHAPE::STAGES * SHAPE::STAGE_BYTES;
  TRY_CUDA(cudaFuncSetAttribute(tiles_kernel<SHAPE>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  dim3 grid((unsigned)tiles->pieces, blocks_of(width, SHAPE::COLUMNS));
  tiles_kernel<SHAPE><<<grid, SHAPE::THREADS, bytes, cuda_stream(k)>>>(*x, *op);
  TRY_LAUNCH();
  return OK;
}

static int launch_weighted(struct kernels *k, const struct cuda_tiles *tiles, const CUtensorMap *x,
                           const struct product *op) {
  if (op->plane > 0) {
    if (op->width <= 64) return launch<tile_shape<64, 2, 4, 2, false, true>>(k, tiles, x, op, op->width);
    return launch<tile_shape<128, 2, 3, 2, false, true>>(k, tiles, x, op, op->width);
  }
  if (op->width <= 64) return launch<tile_shape<64, 1, 6, 2, false, true>>(k, tiles, x, op, op->width);
  return launch<tile_shape<128, 1, 4, 2, false, true>>(k, tiles, x, op, op->width);
}

int cuda_tiles_multiply(struct kernels *k, const struct cuda_tiles *tiles, struct tensor x, int64_t plane,
                        float *sums, int64_t stride) {
  CUtensorMap map;
  struct product op = {tiles->piece, tiles->segment, tiles->bits,     sums,
                       stride,       (int32_t)plane, (int32_t)x.cols, (const bf16 *)x.data,
                       x.stride,     tiles->first,   tiles->value};
  if (tiles->pieces == 0 || x.cols == 0) return OK;
  struct tensor planes = x;
  if (plane > 0) planes.cols += plane;
  TRY(cuda_tma_map(planes, TILE_COLS, &map));
  if (tiles->value) return launch_weighted(k, tiles, &map, &op);
  if (plane > 0) {
    if (x.cols <= 64) return launch<tile_shape<64, 2, 4, 3>>(k, tiles, &map, &op, x.cols);
    return launch<tile_shape<128, 2, 3, 2>>(k, tiles, &map, &op, x.cols);
  }
  if (x.cols <= 64) return launch<tile_shape<64, 1, 6, 2, true>>(k, tiles, &map, &op, x.cols);
  return launch<tile_shape<128, 1, 4, 2>>(k, tiles, &map, &op, x.cols);
}
