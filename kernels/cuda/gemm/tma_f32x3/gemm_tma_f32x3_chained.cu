/* Y = epilogue(A B) of floats, then Y2 = end2(Y B2): shapes, memory and launch of the kernel in
 * gemm_tma_f32x3_chained.cuh. */
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma_f32x3/gemm_tma_f32x3_chained.cuh"

/* Of the ring: a tile and a half, and more than the teams' boxes of B may be apart. */
constexpr int LEAST_CHAINED_BOXES = 2 * MOST_TEAMS;

static int least_boxes(int depth) {
  return max(LEAST_CHAINED_BOXES, depth + (depth + 1) / 2);
}

static bool has_no_norm(const struct gemm *op) {
  return !op->epilogue || op->epilogue->norm == NORM_NONE;
}

static bool can_be_first(const struct gemm *op, const struct gemm_epilogue &e) {
  const bool usual = e.kind == EPILOGUE_FORWARD || (e.kind == EPILOGUE_PLAIN && !e.scale);
  return usual && has_no_norm(op) && !op->backward && !op->transpose_a && !op->transpose_b && !op->a2.data &&
         op->a.rows > 0 && op->a.cols > 0 && op->c.cols > 0 && op->c.cols <= 128 && cuda_is_aligned(op->a) &&
         cuda_is_aligned(op->b) && cuda_takes_boxes(e.out);
}

static bool can_be_second(const struct gemm *chained, const struct gemm_epilogue &e) {
  return e.kind == EPILOGUE_PLAIN && has_no_norm(chained) && !chained->transpose_b && chained->c.cols > 0 &&
         chained->c.cols <= 128 && cuda_is_aligned(chained->b) && cuda_takes_boxes(e.out);
}

static int make_maps(const struct gemm *op, const struct tma_f32x3_chained &p,
                     struct tma_f32x3_chained_maps *maps) {
  TRY(cuda_tma_map(op->a, p.first.height, &maps->first.a));
  TRY(cuda_tma_map(op->b, BOX_ROWS, &maps->first.b));
  TRY(cuda_tma_map(p.first.epilogue.out, p.first.height, &maps->first.out));
  TRY(cuda_tma_map(op->chained->b, BOX_ROWS, &maps->second.b));
  return cuda_tma_map(p.second.epilogue.out, p.second.height, &maps->second.out);
}

template <int BLOCKS, int BLOCKS2>
static int run(struct kernels *k, const struct gemm *op, struct tma_f32x3_chained p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const int fixed = tma_f32x3_chained_fixed<BLOCKS, BLOCKS2>(p.first.depth);
  const int ring = min(MOST_BOXES, (state->shared_bytes - TMA_ALIGNMENT - fixed) / BOX);
  const int bytes = fixed + ring * BOX;
  struct tma_f32x3_chained_maps maps = {};
  if (ring < least_boxes(p.first.depth)) return OK;
  *took = FUSED_CHAINED_GEMM;
  p.first.ring = p.second.ring = ring;
  p.second.depth = CHAINED_DEPTH<BLOCKS>;
  lay_ring<BLOCKS>(state->multiprocessors, p.first);
  lay_ring<BLOCKS2>(state->multiprocessors, p.second);
  TRY(make_maps(op, p, &maps));
  TRY_CUDA(cudaFuncSetAttribute(tma_f32x3_chained_kernel<BLOCKS, BLOCKS2>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return pdl_launch(k, tma_f32x3_chained_kernel<BLOCKS, BLOCKS2>,
                    (unsigned)min((int64_t)state->multiprocessors, p.first.tiles),
                    (TMA_F32X3_TEAMS<BLOCKS> + 1) * TEAM, bytes, maps, p);
}

/* Three teams have too few registers for more than 64 columns of both. */
static int choose(struct kernels *k, const struct gemm *op, const struct tma_f32x3_chained &p, int *took) {
  if (p.second.n > 64) return run<16, 16>(k, op, p, took);
  if (p.second.n > 48) return p.first.n <= 64 ? run<8, 8>(k, op, p, took) : run<16, 8>(k, op, p, took);
  return p.first.n <= 64 ? run<8, 6>(k, op, p, took) : run<16, 6>(k, op, p, took);
}

int cuda_gemm_tma_f32x3_chained(struct kernels *k, const struct gemm *op, int *took) {
  struct tma_f32x3_chained p = {};
  p.first.epilogue = gemm_epilogue_of(k, op);
  p.second.epilogue = gemm_epilogue_of(k, op->chained);
  if (!can_be_first(op, p.first.epilogue) || !can_be_second(op->chained, p.second.epilogue)) return OK;
  p.first.m = p.second.m = op->c.rows;
  p.first.n = (int)op->c.cols;
  p.first.depth = (int)blocks_of(op->a.cols, TMA_F32X3_COLS);
  p.second.n = (int)op->chained->c.cols;
  return choose(k, op, p, took);
}
