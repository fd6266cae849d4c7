/* C = A B (+ A2 B2) of bf16 by bulk copies: shapes, memory and launch of the kernel in gemm_tma_bf16.cuh. */
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma_bf16/gemm_tma_bf16.cuh"

/* Two tiles at work, and two on their way; or none, where there is no other way without further passes over
 * C: for two products in one, and for the way back through an epilogue. */
constexpr int LEAST_SLOTS = 4, LEAST_PAIR_SLOTS = TEAMS;

struct tma_bf16_launch {
  struct tma_bf16_maps maps;
  struct tma_bf16_product product;
  unsigned blocks, column_tiles;
  int bytes; /* of shared memory */
};

static bool can_be_tma_bf16(const struct gemm *op, const struct gemm_epilogue &e) {
  return op->c.cols <= MOST_BOX_ROWS && op->a.cols <= MOST_BOX_ROWS && is_of_tma(e.kind) &&
         cuda_is_boxed(op->a) && cuda_is_boxed(op->b) && cuda_is_boxed(e.out) && cuda_takes_boxes(e.out) &&
         (!op->a2.data || (op->a2.cols <= MOST_BOX_ROWS && cuda_is_boxed(op->a2) && cuda_is_boxed(op->b2))) &&
         (!e.backward || cuda_is_boxed(e.saved));
}

/* As many slots as shared memory has room for, an even number: each is one team's, which so sees every tile
 * that comes into it. False if these are too few. */
template <int BLOCKS>
static bool fit(const struct cuda_state *state, int sums, int least, struct tma_bf16_launch *launch) {
  constexpr int COLS = TMA_BF16_COLS<BLOCKS>;
  struct tma_bf16_product &p = launch->product;
  const int results = p.epilogue.backward ? 0 : TEAMS * COLS / BOX_COLS * BOX;
  const int totals = sums * TMA_BF16_TOTALS<BLOCKS> * (int)sizeof(double);
  const int fixed = panel_bytes(COLS, p.depth) + results + totals +
                    reals_of(p.epilogue.kind) * COLS * (int)sizeof(float);
  const int slot = slot_bytes(COLS, p.depth, p.epilogue.backward);
  p.slots = min(MOST_SLOTS, (state->shared_bytes - TMA_ALIGNMENT - fixed) / slot) / TEAMS * TEAMS;
  launch->bytes = fixed + p.slots * slot;
  return p.slots >= least;
}

template <int BLOCKS> static void lay_out(const struct cuda_state *state, struct tma_bf16_launch *launch) {
  struct tma_bf16_product &p = launch->product;
  launch->column_tiles = blocks_of(p.n, TMA_BF16_COLS<BLOCKS>);
  const int64_t blocks = max((int64_t)1, (int64_t)(state->multiprocessors / launch->column_tiles));
  launch->blocks = lay_tiles(blocks, &p);
  p.boxes = (int)blocks_of(min(p.n, TMA_BF16_COLS<BLOCKS>), BOX_COLS);
}

static int make_maps(const struct gemm *op, int cols, struct tma_bf16_launch *launch) {
  const struct tma_bf16_product &p = launch->product;
  TRY(cuda_tma_map(op->a, p.height, &launch->maps.a));
  TRY(cuda_tma_map(op->b, p.transpose_b ? cols : (p.depth - p.depth2) * BOX_COLS, &launch->maps.b));
  if (p.depth2 > 0) TRY(cuda_tma_map(op->a2, p.height, &launch->maps.a2));
  if (p.depth2 > 0) TRY(cuda_tma_map(op->b2, p.transpose_b ? cols : p.depth2 * BOX_COLS, &launch->maps.b2));
  if (p.epilogue.backward) TRY(cuda_tma_map(p.epilogue.saved, p.height, &launch->maps.saved));
  return cuda_tma_map(p.epilogue.out, p.height, &launch->maps.out);
}

template <int BLOCKS> static int start(struct kernels *k, const struct tma_bf16_launch *launch) {
  TRY_CUDA(cudaFuncSetAttribute(tma_bf16_kernel<BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                launch->bytes));
  return pdl_launch(k, tma_bf16_kernel<BLOCKS>, dim3(launch->blocks, launch->column_tiles), FED_THREADS,
                    launch->bytes, launch->maps, launch->product);
}

template <int BLOCKS>
static int run(struct kernels *k, const struct gemm *op, int least, struct tma_bf16_launch *launch,
               int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  struct tma_bf16_product &p = launch->product;
  const int sums = cuda_sums_wanted(op, &p.epilogue);
  if (!fit<BLOCKS>(state, sums, least, launch)) return OK;
  *took = 1;
  lay_out<BLOCKS>(state, launch);
  if (sums) TRY(cuda_sums_begin(k, op, launch->blocks, &p.epilogue));
  TRY(make_maps(op, TMA_BF16_COLS<BLOCKS>, launch));
  TRY(start<BLOCKS>(k, launch));
  return sums ? cuda_sums_end(k, op, launch->blocks, &p.epilogue) : OK;
}

/* All columns at once, or some at a time where memory asks for it. */
static int choose(struct kernels *k, const struct gemm *op, int least, struct tma_bf16_launch *launch,
                  int *took) {
  if (op->c.cols <= 48) return run<6>(k, op, least, launch, took);
  if (op->c.cols <= 64) return run<8>(k, op, least, launch, took);
  if (op->c.cols > 128 && !needs_norm_blocks(launch->product.epilogue.kind))
    TRY(run<32>(k, op, least, launch, took));
  return *took ? OK : run<16>(k, op, least, launch, took);
}

int cuda_gemm_tma_bf16(struct kernels *k, const struct gemm *op, int *took) {
  struct tma_bf16_launch launch = {};
  struct tma_bf16_product &p = launch.product;
  p.epilogue = gemm_epilogue_of(k, op);
  *took = 0;
  if (!can_be_tma_bf16(op, p.epilogue)) return OK;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  const struct terms_in_boxes terms = terms_of(op);
  p.steps = terms.steps;
  p.depth = terms.depth;
  p.depth2 = terms.depth2;
  p.transpose_b = op->transpose_b;
  TRY(choose(k, op, LEAST_SLOTS, &launch, took));
  if (*took || (!op->a2.data && !op->backward)) return OK;
  return choose(k, op, LEAST_PAIR_SLOTS, &launch, took);
}
