/* Y = epilogue(A B) and Y2 = epilogue(Y B2) of bf16 in one kernel: shapes, memory and launch of
 * gemm_tma_bf16_chained.cuh. */
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma_bf16/gemm_tma_bf16_chained.cuh"

static bool is_usual(enum epilogue_kind kind) {
  return kind == EPILOGUE_PLAIN || kind == EPILOGUE_FORWARD;
}

/* C is tall and of few columns, and all can be boxes; no norm follows. */
static bool can_be_tma_bf16(const struct gemm *op, const struct gemm_epilogue &e) {
  return (!op->epilogue || op->epilogue->norm == NORM_NONE) && op->c.rows > 0 && op->c.cols > 0 &&
         op->a.cols > 0 && op->a.cols <= MOST_BOX_ROWS && op->c.cols <= MOST_BOX_ROWS && !op->a2.data &&
         !op->transpose_b && !op->moments && cuda_is_boxed(op->a) && cuda_is_boxed(op->b) &&
         cuda_is_boxed(e.out) && cuda_takes_boxes(e.out);
}

static int make_maps(const struct gemm *op, const struct chained_product &p, struct chained_maps *maps) {
  TRY(cuda_tma_map(op->a, p.first.height, &maps->first.a));
  TRY(cuda_tma_map(op->b, p.first.depth * BOX_COLS, &maps->first.b));
  TRY(cuda_tma_map(p.first.epilogue.out, p.first.height, &maps->first.out));
  TRY(cuda_tma_map(op->chained->b, p.depth * BOX_COLS, &maps->b));
  return cuda_tma_map(p.epilogue.out, p.first.height, &maps->out);
}

template <class S>
static int launch(struct kernels *k, const struct gemm *op, struct chained_product p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const int fixed = fixed_bytes<S>(p), slot = slot_bytes(S::COLS, p.first.depth, false);
  const int room = min(MOST_SLOTS, (state->shared_bytes - TMA_ALIGNMENT - fixed) / slot);
  p.first.slots = room / S::TEAMS_HERE * S::TEAMS_HERE; /* each is one team's */
  if (p.first.slots < S::TEAMS_HERE) return OK;
  const int bytes = fixed + p.first.slots * slot;
  const unsigned blocks = lay_tiles(state->multiprocessors, &p.first);
  struct chained_maps maps;
  *took = FUSED_CHAINED_GEMM;
  TRY(make_maps(op, p, &maps));
  TRY_CUDA(
      cudaFuncSetAttribute(tma_bf16_chained_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return pdl_launch(k, tma_bf16_chained_kernel<S>, blocks, S::THREADS, bytes, maps, p);
}

/* Registers hold no more sums of both. */
template <int BLOCKS>
static int choose(struct kernels *k, const struct gemm *op, const struct chained_product &p, int *took) {
  if (p.n <= 48) return launch<chained_shape<BLOCKS, 6>>(k, op, p, took);
  if (p.n <= 64) return launch<chained_shape<BLOCKS, 8>>(k, op, p, took);
  if constexpr (BLOCKS <= 16) {
    if (p.n <= 128) return launch<chained_shape<BLOCKS, 16>>(k, op, p, took);
  }
  return OK;
}

int cuda_gemm_tma_bf16_chained(struct kernels *k, const struct gemm *op, int *took) {
  const struct gemm *chained = op->chained;
  struct chained_product p = {};
  struct tma_bf16_product &first = p.first;
  first.epilogue = gemm_epilogue_of(k, op);
  p.epilogue = gemm_epilogue_of(k, chained);
  if (!is_usual(first.epilogue.kind) || p.epilogue.kind != EPILOGUE_PLAIN ||
      !can_be_tma_bf16(op, first.epilogue) || !can_be_tma_bf16(chained, p.epilogue))
    return OK;
  const struct terms_in_boxes terms = terms_of(op), chained_terms = terms_of(chained);
  first.m = op->c.rows;
  first.n = (int)op->c.cols;
  first.steps = terms.steps;
  first.depth = terms.depth;
  first.boxes = (int)blocks_of(first.n, BOX_COLS);
  p.n = (int)chained->c.cols;
  p.steps = chained_terms.steps;
  p.depth = chained_terms.depth;
  p.boxes = (int)blocks_of(p.n, BOX_COLS);
  if (first.n <= 64) return choose<8>(k, op, p, took);
  return first.n <= 128 ? choose<16>(k, op, p, took) : choose<32>(k, op, p, took);
}
