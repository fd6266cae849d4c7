/* dZ = end'(A B^T (+ A2 B2^T)) of bf16 with gradients of weights: shapes, memory and launch of the kernel in
 * gemm_tma_bf16_wgrad.cuh. */
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma_bf16/gemm_tma_bf16_wgrad.cuh"

constexpr int MOST_LEFT = TEAMS * BOX_COLS, LEAST_ALONG_SLOTS = 2;

static bool can_be_bulk(const struct gemm *op, const struct end &e) {
  return op->backward && op->transpose_b && op->a.cols <= MOST_BOX_ROWS && op->c.cols > BOX_COLS &&
         op->c.cols <= MOST_BOX_ROWS && e.kind == END_BACKWARD_RELU && op->a.rows > 0 && op->a.cols > 0 &&
         cuda_is_boxed(op->a) && cuda_is_boxed(op->b) && cuda_is_boxed(e.saved) &&
         (!op->a2.data || (op->a2.cols > 0 && cuda_is_boxed(op->a2) && cuda_is_boxed(op->b2)));
}

static bool can_follow(const struct gemm *then) {
  return then && then->a.cols <= MOST_LEFT && cuda_is_boxed(then->a);
}

/* Registers hold so many sums; and the saved output must be what the gradient is of. */
static bool is_beside(const struct gemm *op, const struct gemm *beside, const struct end &e) {
  return beside && beside->a.data == e.saved.data && beside->a.stride == e.saved.stride &&
         beside->b.cols <= (op->c.cols <= 128 ? 128 : 48);
}

static bool can_go_beside(const struct gemm *op, const struct end &e) {
  return is_beside(op, op->beside, e) && (!op->a2.data || is_beside(op, op->beside2, e)) &&
         cuda_is_boxed(e.out) && cuda_takes_boxes(e.out);
}

/* The arrays that a launch leaves in the workspace, one after the other. */
template <class S>
static int place_sums(struct kernels *k, struct along_product *p, unsigned shares, bool sums) {
  const int64_t then = S::THEN ? (int64_t)shares * p->left_boxes * BOX_COLS * S::COLS : 0,
                beside = S::BESIDE ? (int64_t)shares * S::COLS * 8 * S::A_BLOCKS : 0,
                all = then + (S::PAIR ? 2 : 1) * beside;
  float *from = NULL;
  TRY(kernels_workspace(k, all * (int64_t)sizeof *from + (sums ? shares * p->n * (int64_t)sizeof(double) : 0),
                        (void **)&from));
  p->then = from;
  p->beside = from + then;
  p->beside2 = p->beside + beside;
  p->end.sums = sums ? (double *)(from + all) : NULL;
  return OK;
}

template <class S>
static int make_maps(const struct gemm *op, const struct along_product *p, struct along_maps *maps) {
  TRY(cuda_bulk_map(op->a, BOX_ROWS, &maps->a));
  TRY(cuda_bulk_map(op->b, S::COLS, &maps->b));
  if (S::PAIR) TRY(cuda_bulk_map(op->a2, BOX_ROWS, &maps->a2));
  if (S::PAIR) TRY(cuda_bulk_map(op->b2, S::COLS, &maps->b2));
  TRY(cuda_bulk_map(p->end.saved, BOX_ROWS, &maps->saved));
  if (S::THEN) return cuda_bulk_map(op->backward->then->a, BOX_ROWS, &maps->left);
  return cuda_bulk_map(p->end.out, BOX_ROWS, &maps->out);
}

/* H^T A from what the shares left. */
template <class S>
static struct tile_sum sum_beside(const struct gemm *beside, const float *partial, unsigned shares) {
  return {partial, shares, 1, 1, S::COLS, 8 * S::A_BLOCKS, false, (bool)beside->accumulate, beside->c, 1};
}

/* Adds up what the shares left. */
template <class S>
static int end_launch(struct kernels *k, const struct gemm *op, const struct along_product *p,
                      unsigned shares) {
  const struct gemm *then = op->backward->then;
  struct share_sums sums = {};
  if (S::THEN)
    take_tiles(&sums, {p->then, shares, 1, 1, p->left_boxes * BOX_COLS, S::COLS, false,
                       (bool)then->accumulate, then->c, 1});
  if (S::BESIDE) take_tiles(&sums, sum_beside<S>(op->beside, p->beside, shares));
  if (S::PAIR) take_tiles(&sums, sum_beside<S>(op->beside2, p->beside2, shares));
  take_columns(&sums, p->end.sums, shares, p->n, op->backward->bias_grad);
  return cuda_add_shares(k, &sums);
}

template <class S>
static int launch(struct kernels *k, const struct gemm *op, struct along_product p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool sums = op->backward->bias_grad != NULL;
  p.left_boxes = S::THEN ? (int)blocks_of(op->backward->then->a.cols, BOX_COLS) : 0;
  const int slot = along_slot_bytes(S::COLS, p.depth, p.left_boxes);
  const int fixed = panel_bytes(S::COLS, p.depth) +
                    (sums ? TEAMS * TEAM / 32 * S::COLS / 2 * (int)sizeof(double) : 0);
  p.slots = min(MOST_SLOTS, (state->shared_bytes - BULK_ALIGNMENT - fixed) / slot);
  if (p.slots < LEAST_ALONG_SLOTS) return OK;
  const int bytes = fixed + p.slots * slot;
  struct along_maps maps;
  const int64_t least = S::THEN ? TERMS
                                : BOX_ROWS; /* a tile that is written must not reach into the next share */
  p.share = blocks_of(blocks_of(p.m, state->multiprocessors), least) * least;
  const unsigned shares = blocks_of(p.m, p.share);
  *took = (S::THEN ? ALONG_THEN : 0) | (S::BESIDE ? ALONG_BESIDE : 0);
  TRY(place_sums<S>(k, &p, shares, sums));
  TRY(make_maps<S>(op, &p, &maps));
  TRY_CUDA(cudaFuncSetAttribute(along_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY(launch_behind(k, along_kernel<S>, shares, TEAMS * TEAM, bytes, maps, p));
  return end_launch<S>(k, op, &p, shares);
}

template <int BLOCKS, bool THEN>
static int launch_beside(struct kernels *k, const struct gemm *op, const struct along_product &p, int *took) {
  if (op->a.cols <= 48) return launch<along_shape<BLOCKS, THEN, 6>>(k, op, p, took);
  if constexpr (BLOCKS == 16) {
    if (op->a.cols <= 64) return launch<along_shape<BLOCKS, THEN, 8>>(k, op, p, took);
    return launch<along_shape<BLOCKS, THEN, 16>>(k, op, p, took);
  }
  return OK;
}

/* Two products in one take the gradients beside them along and nothing else. */
template <int BLOCKS>
static int launch_pair(struct kernels *k, const struct gemm *op, const struct along_product &p, int *took) {
  const int64_t cols = max(op->a.cols, op->a2.cols);
  if (op->backward->then || !can_go_beside(op, p.end)) return OK;
  if (cols <= 48) return launch<along_shape<BLOCKS, false, 6, true>>(k, op, p, took);
  if constexpr (BLOCKS == 16) {
    if (cols <= 64) return launch<along_shape<BLOCKS, false, 8, true>>(k, op, p, took);
  }
  return OK;
}

/* As much along with the product as shared memory has room for. */
template <int BLOCKS>
static int choose(struct kernels *k, const struct gemm *op, const struct along_product &p, int *took) {
  if (p.depth2 > 0) return launch_pair<BLOCKS>(k, op, p, took);
  const bool follows = can_follow(op->backward->then), goes_beside = can_go_beside(op, p.end);
  if (follows && goes_beside) TRY((launch_beside<BLOCKS, true>(k, op, p, took)));
  if (follows && !*took) TRY((launch<along_shape<BLOCKS, true, 0>>(k, op, p, took)));
  if (goes_beside && !*took) TRY((launch_beside<BLOCKS, false>(k, op, p, took)));
  return OK;
}

int cuda_gemm_bulk_along(struct kernels *k, const struct gemm *op, int *took) {
  struct along_product p = {};
  p.end = end_of(k, op);
  if (!can_be_bulk(op, p.end)) return OK;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  const struct terms_in_boxes terms = terms_of(op);
  p.steps = terms.steps;
  p.depth = terms.depth;
  p.depth2 = terms.depth2;
  p.boxes = (int)blocks_of(op->c.cols, BOX_COLS);
  return op->c.cols <= 128 ? choose<16>(k, op, p, took) : choose<32>(k, op, p, took);
}
