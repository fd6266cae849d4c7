/* C = A B (+ A2 B2) by bulk copies: shapes, memory and launch of the kernel in gemm_tma.cuh. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_LAUNCH_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_LAUNCH_CUH

#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma.cuh"

constexpr int LEAST_BOXES = 8, LEAST_MOMENT_BOXES = 6; /* 64 KiB on their way; those spare a pass over C */

struct tma_launch {
  struct tma_maps maps;
  struct tma_product product;
  unsigned blocks, column_tiles;
  int bytes; /* of shared memory, beside the ring */
};

/* As many boxes as shared memory has room for; false if these are too few, or no more than a tile's saved
 * output has: teams wait in turn for boxes less than a round of the ring apart. */
template <class S> static bool fit(const struct cuda_state *state, int sums, struct tma_launch *launch) {
  struct tma_product &p = launch->product;
  const int results = result_boxes<S>(p.epilogue.backward, p.batch) * BOX;
  const int fixed = results + tma_panel_bytes<S>(p.depth) + tma_totals_bytes<S>(sums) +
                    reals_of(p.epilogue.kind) * S::COLS * (int)sizeof(float);
  const int least = p.epilogue.kind == EPILOGUE_MOMENTS ? LEAST_MOMENT_BOXES : LEAST_BOXES;
  p.ring = room_for_ring(state, fixed);
  launch->bytes = fixed;
  return p.ring >= least && (!p.epilogue.backward || p.ring > S::ACROSS);
}

template <class S> static void lay_tiles(const struct cuda_state *state, struct tma_launch *launch) {
  struct tma_product &p = launch->product;
  launch->column_tiles = blocks_of(p.n, S::COLS);
  const int64_t blocks = max((int64_t)1, (int64_t)(state->multiprocessors / launch->column_tiles));
  lay_ring<S>(blocks, p);
  launch->blocks = (unsigned)min(blocks, p.tiles);
  const int each = p.depth + (p.epilogue.backward ? p.boxes : 0);
  p.ring = trimmed_ring(p.ring, p.b_boxes + blocks_of(p.tiles, launch->blocks) * (int64_t)each);
  launch->bytes += p.ring * BOX;
}

template <class S> static int make_maps(const struct gemm *op, struct tma_launch *launch) {
  const struct tma_product &p = launch->product;
  TRY(cuda_tma_map(op->a, p.height, &launch->maps.a));
  TRY(cuda_tma_map(op->b, BOX_ROWS, &launch->maps.b));
  if (p.depth2 > 0) TRY(cuda_tma_map(op->a2, p.height, &launch->maps.a2));
  if (p.depth2 > 0) TRY(cuda_tma_map(op->b2, BOX_ROWS, &launch->maps.b2));
  if (p.epilogue.backward) TRY(cuda_tma_map(p.epilogue.saved, p.height, &launch->maps.saved));
  return result_boxes<S>(p.epilogue.backward, p.batch) > 0
             ? cuda_tma_map(p.epilogue.out, p.height, &launch->maps.out)
             : OK;
}

template <class S>
static int run(struct kernels *k, const struct gemm *op, struct tma_launch *launch, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  struct tma_product &p = launch->product;
  const int sums = cuda_sums_wanted(op, &p.epilogue);
  p.batch = S::ACROSS > 1 ? MOST_BATCH : 1;
  while (!fit<S>(state, sums, launch)) {
    if (--p.batch == 0) return OK;
  }
  *took = 1;
  lay_tiles<S>(state, launch);
  if (sums) TRY(cuda_sums_begin(k, op, launch->blocks, &p.epilogue));
  TRY(make_maps<S>(op, launch));
  TRY_CUDA(cudaFuncSetAttribute(tma_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, launch->bytes));
  TRY(pdl_launch(k, tma_kernel<S>, dim3(launch->blocks, launch->column_tiles), S::THREADS, launch->bytes,
                 launch->maps, launch->product));
  return sums ? cuda_sums_end(k, op, launch->blocks, &p.epilogue) : OK;
}

/* Whether bulk copies can read t as elements of T; true without one. */
template <class T> static bool is_boxed(const struct tensor &t) {
  return !t.data || (t.dtype == DTYPE<T> && cuda_is_aligned(t));
}

template <class T> static bool can_be_tma(const struct gemm *op, const struct gemm_epilogue &e) {
  const bool sends = !e.backward || tma_shape<T, 16>::SENDS_BACK;
  return is_of_tma(e.kind) && is_boxed<T>(op->a) && is_boxed<T>(op->b) && is_boxed<T>(op->a2) &&
         is_boxed<T>(op->b2) && is_boxed<T>(e.out) && is_boxed<T>(e.saved) &&
         (!sends || cuda_takes_boxes(e.out));
}

template <class T> static int multiply_tma(struct kernels *k, const struct gemm *op, int *took) {
  struct tma_launch launch = {};
  struct tma_product &p = launch.product;
  p.epilogue = gemm_epilogue_of(k, op);
  *took = 0;
  if (!can_be_tma<T>(op, p.epilogue)) return OK;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.depth2 = op->a2.data ? (int)blocks_of(op->a2.cols, TMA_COLS<T>) : 0;
  p.depth = (int)blocks_of(op->a.cols, TMA_COLS<T>) + p.depth2;
  p.transpose_b = op->transpose_b;
  if (p.n <= 48) return run<tma_shape<T, 6>>(k, op, &launch, took);
  if (p.n <= 64) return run<tma_shape<T, 8>>(k, op, &launch, took);
  if (p.n > 128) TRY((run<tma_shape<T, 32>>(k, op, &launch, took)));
  if (!*took) TRY((run<tma_shape<T, 16>>(k, op, &launch, took)));
  return *took || !op->a2.data ? OK : run<tma_shape<T, 8>>(k, op, &launch, took);
}

#endif
