/* C = A B (+ A2 B2) of floats by bulk copies: shapes, memory and launch of the kernel in gemm_tma_f32x3.cuh.
 */
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma_f32x3/gemm_tma_f32x3.cuh"

constexpr int LEAST_BOXES = 8, LEAST_MOMENT_BOXES = 6; /* 64 KiB on their way; those spare a pass over C */

struct tma_f32x3_launch {
  struct tma_f32x3_maps maps;
  struct tma_f32x3_product product;
  unsigned blocks, column_tiles;
  int bytes; /* of shared memory */
};

/* As many boxes as shared memory has room for; false if these are too few, or no more than a tile's saved
 * output has: teams wait in turn for boxes less than a round of the ring apart. */
template <int BLOCKS>
static bool fit(const struct cuda_state *state, int sums, struct tma_f32x3_launch *launch) {
  struct tma_f32x3_product &p = launch->product;
  const int results = result_boxes<BLOCKS>(p.epilogue.backward) * BOX;
  const int fixed = results + tma_f32x3_panel_bytes<BLOCKS>(p.depth) + tma_f32x3_totals_bytes<BLOCKS>(sums) +
                    reals_of(p.epilogue.kind) * 8 * BLOCKS * (int)sizeof(float);
  const int least = p.epilogue.kind == EPILOGUE_MOMENTS ? LEAST_MOMENT_BOXES : LEAST_BOXES;
  p.ring = min(MOST_BOXES, (state->shared_bytes - TMA_ALIGNMENT - fixed) / BOX);
  launch->bytes = fixed + p.ring * BOX;
  return p.ring >= least && (!p.epilogue.backward || p.ring > BOXED_COLS<BLOCKS> / TMA_F32X3_COLS);
}

template <int BLOCKS> static void lay_tiles(const struct cuda_state *state, struct tma_f32x3_launch *launch) {
  struct tma_f32x3_product &p = launch->product;
  launch->column_tiles = blocks_of(p.n, 8 * BLOCKS);
  const int64_t blocks = max((int64_t)1, (int64_t)(state->multiprocessors / launch->column_tiles));
  lay_ring<BLOCKS>(blocks, p);
  launch->blocks = (unsigned)min(blocks, p.tiles);
}

static int make_maps(const struct gemm *op, struct tma_f32x3_launch *launch) {
  const struct tma_f32x3_product &p = launch->product;
  TRY(cuda_tma_map(op->a, p.height, &launch->maps.a));
  TRY(cuda_tma_map(op->b, BOX_ROWS, &launch->maps.b));
  if (p.depth2 > 0) TRY(cuda_tma_map(op->a2, p.height, &launch->maps.a2));
  if (p.depth2 > 0) TRY(cuda_tma_map(op->b2, BOX_ROWS, &launch->maps.b2));
  if (p.epilogue.backward) return cuda_tma_map(p.epilogue.saved, p.height, &launch->maps.saved);
  return cuda_tma_map(p.epilogue.out, p.height, &launch->maps.out);
}

template <int BLOCKS> static int start(struct kernels *k, const struct tma_f32x3_launch *launch) {
  TRY_CUDA(cudaFuncSetAttribute(tma_f32x3_kernel<BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                launch->bytes));
  return pdl_launch(k, tma_f32x3_kernel<BLOCKS>, dim3(launch->blocks, launch->column_tiles),
                    (TMA_F32X3_TEAMS<BLOCKS> + 1) * TEAM, launch->bytes, launch->maps, launch->product);
}

template <int BLOCKS>
static int run(struct kernels *k, const struct gemm *op, struct tma_f32x3_launch *launch, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  struct tma_f32x3_product &p = launch->product;
  const int sums = cuda_sums_wanted(op, &p.epilogue);
  if (!fit<BLOCKS>(state, sums, launch)) return OK;
  *took = 1;
  lay_tiles<BLOCKS>(state, launch);
  if (sums) TRY(cuda_sums_begin(k, op, launch->blocks, &p.epilogue));
  TRY(make_maps(op, launch));
  TRY(start<BLOCKS>(k, launch));
  return sums ? cuda_sums_end(k, op, launch->blocks, &p.epilogue) : OK;
}

static bool can_be_tma_f32x3(const struct gemm *op, const struct gemm_epilogue &e) {
  return is_of_tma(e.kind) && op->c.cols <= 256 && cuda_is_aligned(op->a) && cuda_is_aligned(op->b) &&
         (!op->a2.data || (cuda_is_aligned(op->a2) && cuda_is_aligned(op->b2))) &&
         (e.backward || cuda_takes_boxes(e.out));
}

int cuda_gemm_tma_f32x3(struct kernels *k, const struct gemm *op, int *took) {
  struct tma_f32x3_launch launch = {};
  struct tma_f32x3_product &p = launch.product;
  p.epilogue = gemm_epilogue_of(k, op);
  *took = 0;
  if (!can_be_tma_f32x3(op, p.epilogue)) return OK;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.depth2 = op->a2.data ? (int)blocks_of(op->a2.cols, TMA_F32X3_COLS) : 0;
  p.depth = (int)blocks_of(op->a.cols, TMA_F32X3_COLS) + p.depth2;
  p.transpose_b = op->transpose_b;
  if (p.n <= 48) return run<6>(k, op, &launch, took);
  if (p.n <= 64) return run<8>(k, op, &launch, took);
  if (p.n > 128) TRY(run<32>(k, op, &launch, took));
  if (!*took) TRY(run<16>(k, op, &launch, took));
  return *took || !op->a2.data ? OK : run<8>(k, op, &launch, took);
}
