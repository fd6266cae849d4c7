/* Gradients of attention by cosines over the arcs in tiles; see cosine_tiles_backward_window.cuh. */
#include "kernels/cuda/attention/tiles/cosine_tiles_backward_window.cuh"

template <class S>
static __global__ void __launch_bounds__(BLOCK, S::BLOCKS)
    cosine_tiles_backward_kernel(const __grid_constant__ struct cosine_maps maps,
                                 const __grid_constant__ struct cosine_product op) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  sum_window<S>(maps, op);
#endif
}

template <class S> static int sum(struct kernels *k, const struct cosine_windows *op) {
  constexpr int bytes = S::STAGES * S::STAGE_BYTES;
  const struct cosine_product product = cosine_product_of(k, op);
  struct cosine_maps maps = {};
  TRY(map_of_message(op, 0, op->width, S::N, &maps.x));
  TRY(map_of_message(op, product.inverse, REALS_COLUMNS, REALS_COLUMNS, &maps.inverse));
  if (S::OUT) {
    TRY(map_of_message(op, product.dz, op->width, S::N, &maps.dz));
    TRY(map_of_message(op, product.reals, REALS_COLUMNS, REALS_COLUMNS, &maps.reals));
  }
  auto *kernel = cosine_tiles_backward_kernel<S>;
  TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<(unsigned)cuda_layout(op->a)->tiles.pieces, BLOCK, bytes, cuda_stream(k)>>>(maps, product);
  TRY_LAUNCH();
  return OK;
}

/* Columns of a tile at a time, buffers of their products, and blocks on a multiprocessor: as many as
 * registers allow, 128 a thread for two blocks and 255 for one. With more, compilers would spill some, or let
 * products wait for each other. */
template <int ARCS> static int run(struct kernels *k, const struct cosine_windows *op) {
  constexpr bool IN = ARCS == COSINE_IN, OUT = ARCS == COSINE_OUT;
  if (op->width <= 16) return sum<cosine_backward_tile<ARCS, 16, IN || OUT ? 32 : 16, IN ? 2 : 1, 2>>(k, op);
  if (op->width <= 32) return sum<cosine_backward_tile<ARCS, 32, IN ? 32 : 16, OUT ? 2 : 1, 2>>(k, op);
  return sum<cosine_backward_tile<ARCS, 64, 32, 2, 1>>(k, op);
}

int cuda_cosine_tiles_backward(struct kernels *k, const struct cosine_windows *op) {
  TRY(check_cosine_windows(op));
  if (cuda_layout(op->a)->tiles.pieces == 0) return OK;
  if (op->arcs == COSINE_IN) return run<COSINE_IN>(k, op);
  return op->arcs == COSINE_OUT ? run<COSINE_OUT>(k, op) : run<COSINE_IN | COSINE_OUT>(k, op);
}
