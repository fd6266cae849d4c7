/* dZ = epilogue'(A B^T (+ A2 B2^T)) of bf16 with gradients of weights: shapes, memory and launch of the
 * kernel in gemm_tma_wgrad_bf16.cuh. */
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_wgrad_bf16.cuh"

constexpr int MOST_LEFT = TEAMS * BOX_COLS, LEAST_WGRAD_SLOTS = 2;

static bool can_be_wgrad(const struct gemm *op, const struct gemm_epilogue &e) {
  return op->backward && op->transpose_b && op->a.cols <= MOST_BOX_ROWS && op->c.cols > BOX_COLS &&
         op->c.cols <= MOST_BOX_ROWS && e.kind == EPILOGUE_BACKWARD_RELU && op->a.rows > 0 &&
         op->a.cols > 0 && cuda_is_boxed(op->a) && cuda_is_boxed(op->b) && cuda_is_boxed(e.saved) &&
         (!op->a2.data || (op->a2.cols > 0 && cuda_is_boxed(op->a2) && cuda_is_boxed(op->b2)));
}

static bool can_chain_wgrad(const struct gemm *chained_wgrad) {
  return chained_wgrad && chained_wgrad->a.cols <= MOST_LEFT && cuda_is_boxed(chained_wgrad->a);
}

/* Registers hold so many sums; and the saved output must be what the gradient is of. */
static bool is_fused_wgrad(const struct gemm *op, const struct gemm *fused_wgrad,
                           const struct gemm_epilogue &e) {
  return fused_wgrad && fused_wgrad->a.data == e.saved.data && fused_wgrad->a.stride == e.saved.stride &&
         fused_wgrad->b.cols <= (op->c.cols <= 128 ? 128 : 48);
}

static bool can_fuse_wgrad(const struct gemm *op, const struct gemm_epilogue &e) {
  return is_fused_wgrad(op, op->fused_wgrad, e) &&
         (!op->a2.data || is_fused_wgrad(op, op->fused_wgrad2, e)) && cuda_is_boxed(e.out) &&
         cuda_takes_boxes(e.out);
}

/* The arrays that a launch leaves in the workspace, one after the other. */
template <class S>
static int place_sums(struct kernels *k, struct wgrad_product *p, unsigned shares, bool sums) {
  const int64_t chained_wgrad = S::CHAINED_WGRAD ? (int64_t)shares * p->left_boxes * BOX_COLS * S::COLS : 0,
                fused_wgrad = S::FUSED_WGRAD ? (int64_t)shares * S::COLS * 8 * S::A_BLOCKS : 0,
                all = chained_wgrad + (S::PAIR ? 2 : 1) * fused_wgrad;
  float *from = NULL;
  TRY(kernels_workspace(k, all * (int64_t)sizeof *from + (sums ? shares * p->n * (int64_t)sizeof(double) : 0),
                        (void **)&from));
  p->chained_wgrad = from;
  p->fused_wgrad = from + chained_wgrad;
  p->fused_wgrad2 = p->fused_wgrad + fused_wgrad;
  p->epilogue.sums = sums ? (double *)(from + all) : NULL;
  return OK;
}

template <class S>
static int make_maps(const struct gemm *op, const struct wgrad_product *p, struct wgrad_maps *maps) {
  TRY(cuda_tma_map(op->a, BOX_ROWS, &maps->a));
  TRY(cuda_tma_map(op->b, S::COLS, &maps->b));
  if (S::PAIR) TRY(cuda_tma_map(op->a2, BOX_ROWS, &maps->a2));
  if (S::PAIR) TRY(cuda_tma_map(op->b2, S::COLS, &maps->b2));
  TRY(cuda_tma_map(p->epilogue.saved, BOX_ROWS, &maps->saved));
  if (S::CHAINED_WGRAD) return cuda_tma_map(op->backward->chained_wgrad->a, BOX_ROWS, &maps->left);
  return cuda_tma_map(p->epilogue.out, BOX_ROWS, &maps->out);
}

/* H^T A from what the shares left. */
template <class S>
static struct tile_sum sum_fused_wgrad(const struct gemm *fused_wgrad, const float *partial,
                                       unsigned shares) {
  return {partial,        shares, 1, 1, S::COLS, 8 * S::A_BLOCKS, false, (bool)fused_wgrad->accumulate,
          fused_wgrad->c, 1};
}

/* Adds up what the shares left. */
template <class S>
static int end_launch(struct kernels *k, const struct gemm *op, const struct wgrad_product *p,
                      unsigned shares) {
  const struct gemm *chained_wgrad = op->backward->chained_wgrad;
  struct share_sums sums = {};
  if (S::CHAINED_WGRAD)
    take_tiles(&sums, {p->chained_wgrad, shares, 1, 1, p->left_boxes * BOX_COLS, S::COLS, false,
                       (bool)chained_wgrad->accumulate, chained_wgrad->c, 1});
  if (S::FUSED_WGRAD) take_tiles(&sums, sum_fused_wgrad<S>(op->fused_wgrad, p->fused_wgrad, shares));
  if (S::PAIR) take_tiles(&sums, sum_fused_wgrad<S>(op->fused_wgrad2, p->fused_wgrad2, shares));
  take_columns(&sums, p->epilogue.sums, shares, p->n, op->backward->bias_grad);
  return cuda_add_shares(k, &sums);
}

template <class S>
static int launch(struct kernels *k, const struct gemm *op, struct wgrad_product p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool sums = op->backward->bias_grad != NULL;
  p.left_boxes = S::CHAINED_WGRAD ? (int)blocks_of(op->backward->chained_wgrad->a.cols, BOX_COLS) : 0;
  const int slot = wgrad_slot_bytes(S::COLS, p.depth, p.left_boxes);
  const int fixed = panel_bytes(S::COLS, p.depth) +
                    (sums ? TEAMS * TEAM / 32 * S::COLS / 2 * (int)sizeof(double) : 0);
  p.slots = min(MOST_SLOTS, (state->shared_bytes - TMA_ALIGNMENT - fixed) / slot);
  if (p.slots < LEAST_WGRAD_SLOTS) return OK;
  const int bytes = fixed + p.slots * slot;
  struct wgrad_maps maps;
  const int64_t least = S::CHAINED_WGRAD
                            ? TERMS
                            : BOX_ROWS; /* a tile that is written must not reach into the next share */
  p.share = blocks_of(blocks_of(p.m, state->multiprocessors), least) * least;
  const unsigned shares = blocks_of(p.m, p.share);
  *took = (S::CHAINED_WGRAD ? FUSED_CHAINED_WGRAD : 0) | (S::FUSED_WGRAD ? FUSED_WGRAD : 0);
  TRY(place_sums<S>(k, &p, shares, sums));
  TRY(make_maps<S>(op, &p, &maps));
  TRY_CUDA(cudaFuncSetAttribute(wgrad_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY(pdl_launch(k, wgrad_kernel<S>, shares, TEAMS * TEAM, bytes, maps, p));
  return end_launch<S>(k, op, &p, shares);
}

template <int BLOCKS, bool CHAINED_WGRAD>
static int launch_fused_wgrad(struct kernels *k, const struct gemm *op, const struct wgrad_product &p,
                              int *took) {
  if (op->a.cols <= 48) return launch<wgrad_shape<BLOCKS, CHAINED_WGRAD, 6>>(k, op, p, took);
  if constexpr (BLOCKS == 16) {
    if (op->a.cols <= 64) return launch<wgrad_shape<BLOCKS, CHAINED_WGRAD, 8>>(k, op, p, took);
    return launch<wgrad_shape<BLOCKS, CHAINED_WGRAD, 16>>(k, op, p, took);
  }
  return OK;
}

/* Two products in one take the gradients beside them along and nothing else. */
template <int BLOCKS>
static int launch_pair(struct kernels *k, const struct gemm *op, const struct wgrad_product &p, int *took) {
  const int64_t cols = max(op->a.cols, op->a2.cols);
  if (op->backward->chained_wgrad || !can_fuse_wgrad(op, p.epilogue)) return OK;
  if (cols <= 48) return launch<wgrad_shape<BLOCKS, false, 6, true>>(k, op, p, took);
  if constexpr (BLOCKS == 16) {
    if (cols <= 64) return launch<wgrad_shape<BLOCKS, false, 8, true>>(k, op, p, took);
  }
  return OK;
}

/* As much along with the product as shared memory has room for. */
template <int BLOCKS>
static int choose(struct kernels *k, const struct gemm *op, const struct wgrad_product &p, int *took) {
  if (p.depth2 > 0) return launch_pair<BLOCKS>(k, op, p, took);
  const bool chains_wgrad = can_chain_wgrad(op->backward->chained_wgrad),
             fuses_wgrad = can_fuse_wgrad(op, p.epilogue);
  if (chains_wgrad && fuses_wgrad) TRY((launch_fused_wgrad<BLOCKS, true>(k, op, p, took)));
  if (chains_wgrad && !*took) TRY((launch<wgrad_shape<BLOCKS, true, 0>>(k, op, p, took)));
  if (fuses_wgrad && !*took) TRY((launch_fused_wgrad<BLOCKS, false>(k, op, p, took)));
  return OK;
}

int cuda_gemm_tma_bf16_wgrad(struct kernels *k, const struct gemm *op, int *took) {
  struct wgrad_product p = {};
  p.epilogue = gemm_epilogue_of(k, op);
  if (!can_be_wgrad(op, p.epilogue)) return OK;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.depth2 = op->a2.data ? (int)blocks_of(op->a2.cols, BOX_COLS) : 0;
  p.depth = (int)blocks_of(op->a.cols, BOX_COLS) + p.depth2;
  p.steps = op->a2.data ? (p.depth - p.depth2) * (BOX_COLS / TERMS) + (int)blocks_of(op->a2.cols, TERMS)
                        : (int)blocks_of(op->a.cols, TERMS);
  p.boxes = (int)blocks_of(op->c.cols, BOX_COLS);
  return op->c.cols <= 128 ? choose<16>(k, op, p, took) : choose<32>(k, op, p, took);
}
