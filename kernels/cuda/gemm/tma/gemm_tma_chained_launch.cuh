/* Y = epilogue(A B), then Y2 = epilogue2(Y B2): shapes, memory and launch of the kernel in
 * gemm_tma_chained.cuh. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_CHAINED_LAUNCH_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_CHAINED_LAUNCH_CUH

#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_chained.cuh"

/* Of the ring: a tile and a half, and more than the teams' boxes of B may be apart. */
constexpr int LEAST_CHAINED_BOXES = 2 * MOST_TEAMS;

static int least_boxes(int depth) {
  return max(LEAST_CHAINED_BOXES, depth + (depth + 1) / 2);
}

template <class T> static bool can_be_chained(const struct gemm *op, const struct gemm_epilogue &e) {
  return (!op->epilogue || op->epilogue->norm == NORM_NONE) && !op->transpose_b && !op->moments &&
         op->c.cols > 0 && op->a.dtype == DTYPE<T> && op->b.dtype == DTYPE<T> && e.out.dtype == DTYPE<T> &&
         cuda_is_aligned(op->b) && cuda_takes_boxes(e.out);
}

template <class T> static bool can_be_first(const struct gemm *op, const struct gemm_epilogue &e) {
  const bool usual = e.kind == EPILOGUE_FORWARD || (e.kind == EPILOGUE_PLAIN && !e.scale);
  return usual && can_be_chained<T>(op, e) && !op->backward && !op->transpose_a && !op->a2.data &&
         op->a.rows > 0 && op->a.cols > 0 && cuda_is_aligned(op->a);
}

static int make_maps(const struct gemm *op, const struct tma_chained &p, struct tma_chained_maps *maps) {
  TRY(cuda_tma_map(op->a, p.first.height, &maps->first.a));
  TRY(cuda_tma_map(op->b, BOX_ROWS, &maps->first.b));
  TRY(cuda_tma_map(p.first.epilogue.out, p.first.height, &maps->first.out));
  TRY(cuda_tma_map(op->chained->b, BOX_ROWS, &maps->second.b));
  return cuda_tma_map(p.second.epilogue.out, p.second.height, &maps->second.out);
}

template <class C> static int run(struct kernels *k, const struct gemm *op, struct tma_chained p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  int ring = 0, bytes = 0, batch = MOST_BATCH;
  struct tma_chained_maps maps = {};
  for (; batch > 0; batch--) {
    const int fixed = tma_chained_fixed<C>(p.first.depth, batch);
    ring = room_for_ring(state, fixed);
    bytes = fixed;
    if (ring >= least_boxes(p.first.depth)) break;
  }
  if (batch == 0) return OK;
  p.first.batch = p.second.batch = batch;
  *took = FUSED_CHAINED_GEMM;
  p.second.depth = C::DEPTH;
  lay_ring<typename C::First>(state->multiprocessors, p.first);
  lay_ring<typename C::Second>(state->multiprocessors, p.second);
  const unsigned blocks = (unsigned)min((int64_t)state->multiprocessors, p.first.tiles);
  ring = trimmed_ring(ring, p.first.b_boxes + p.second.b_boxes +
                                blocks_of(p.first.tiles, blocks) * (int64_t)p.first.depth);
  p.first.ring = p.second.ring = ring;
  bytes += ring * BOX;
  TRY(make_maps(op, p, &maps));
  TRY_CUDA(cudaFuncSetAttribute(tma_chained_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return pdl_launch(k, tma_chained_kernel<C>, blocks, C::First::THREADS, bytes, maps, p);
}

/* Registers hold no more sums of both, and shared memory no wider panels of floats. */
template <class T, int BLOCKS>
static int choose(struct kernels *k, const struct gemm *op, const struct tma_chained &p, int *took) {
  if (p.second.n <= 48) return run<chained_shape<T, BLOCKS, 6>>(k, op, p, took);
  if (p.second.n <= 64) return run<chained_shape<T, BLOCKS, 8>>(k, op, p, took);
  if constexpr (BLOCKS <= 16) {
    if (p.second.n <= 128) return run<chained_shape<T, 16, 16>>(k, op, p, took);
  }
  return OK;
}

template <class T> static int multiply_chained(struct kernels *k, const struct gemm *op, int *took) {
  struct tma_chained p = {};
  p.first.epilogue = gemm_epilogue_of(k, op);
  p.second.epilogue = gemm_epilogue_of(k, op->chained);
  if (!can_be_first<T>(op, p.first.epilogue) || !can_be_chained<T>(op->chained, p.second.epilogue) ||
      p.second.epilogue.kind != EPILOGUE_PLAIN)
    return OK;
  p.first.m = p.second.m = op->c.rows;
  p.first.n = (int)op->c.cols;
  p.first.depth = (int)blocks_of(op->a.cols, TMA_COLS<T>);
  p.second.n = (int)op->chained->c.cols;
  if (p.first.n <= 64) return choose<T, 8>(k, op, p, took);
  if (p.first.n <= 128) return choose<T, 16>(k, op, p, took);
  if constexpr (sizeof(T) == 2) {
    if (p.first.n <= 256) return choose<T, 32>(k, op, p, took);
  }
  return OK;
}

#endif
