/* dZ = epilogue'(A B^T) of floats with gradients of weights: shapes, memory and launch of the kernel in
 * gemm_tma_wgrad_f32.cuh. */
#include <algorithm>
#include <cassert>

#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_wgrad_f32.cuh"

constexpr int LEAST_WGRAD_BOXES = 8; /* of the ring: a tile of one matrix, and one on its way */

static bool can_be_wgrad(const struct gemm *op, const struct gemm_epilogue &e) {
  return op->backward && op->transpose_b && op->a.cols <= WGRAD_COLS && op->c.cols > WGRAD_COLS / 2 &&
         op->c.cols <= WGRAD_COLS && e.kind == EPILOGUE_BACKWARD_RELU && op->a.rows > 0 && op->a.cols > 0 &&
         cuda_is_aligned(op->a) && cuda_is_aligned(op->b) && !op->a2.data;
}

static bool can_chain_wgrad(const struct gemm *chained_wgrad) {
  return chained_wgrad && chained_wgrad->a.cols <= WGRAD_COLS && chained_wgrad->a.cols > 0 &&
         cuda_is_aligned(chained_wgrad->a);
}

/* The saved output must be what the gradient is of. */
static bool can_fuse_wgrad(const struct gemm *op, const struct gemm_epilogue &e) {
  const struct gemm *fused_wgrad = op->fused_wgrad;
  return fused_wgrad && fused_wgrad->a.data == e.saved.data && fused_wgrad->a.stride == e.saved.stride;
}

/* The arrays that a launch leaves in the workspace, one after the other. */
template <class S> static int place_sums(struct kernels *k, struct tma_wgrad *p, unsigned shares, bool sums) {
  const int64_t chained_wgrad = S::CHAINED_WGRAD
                                    ? (int64_t)shares * p->left_boxes * TMA_COLS<float> * WGRAD_COLS
                                    : 0,
                fused_wgrad = S::FUSED_WGRAD ? (int64_t)shares * WGRAD_COLS * 8 * S::A_BLOCKS : 0;
  float *from = NULL;
  TRY(kernels_workspace(k,
                        (chained_wgrad + fused_wgrad) * (int64_t)sizeof *from +
                            (sums ? shares * p->product.n * (int64_t)sizeof(double) : 0),
                        (void **)&from));
  p->chained_wgrad = from;
  p->fused_wgrad = from + chained_wgrad;
  p->product.epilogue.sums = sums ? (double *)(from + chained_wgrad + fused_wgrad) : NULL;
  return OK;
}

template <class S>
static int make_maps(const struct gemm *op, const struct gemm_epilogue &e, struct tma_wgrad_maps *maps) {
  TRY(cuda_tma_map(op->a, BOX_ROWS, &maps->a));
  TRY(cuda_tma_map(op->b, BOX_ROWS, &maps->b));
  TRY(cuda_tma_map(e.saved, BOX_ROWS, &maps->saved));
  if (S::CHAINED_WGRAD) return cuda_tma_map(op->backward->chained_wgrad->a, BOX_ROWS, &maps->left);
  return cuda_tma_map(e.out, BOX_ROWS, &maps->out);
}

/* Adds up what the shares left. */
template <class S>
static int end_launch(struct kernels *k, const struct gemm *op, const struct tma_wgrad *p, unsigned shares) {
  const struct gemm *chained_wgrad = op->backward->chained_wgrad, *fused_wgrad = op->fused_wgrad;
  struct share_sums sums = {};
  if (S::CHAINED_WGRAD)
    take_tiles(&sums, {p->chained_wgrad, shares, 1, 1, p->left_boxes * TMA_COLS<float>, WGRAD_COLS, false,
                       (bool)chained_wgrad->accumulate, chained_wgrad->c, 1});
  if (S::FUSED_WGRAD)
    take_tiles(&sums, {p->fused_wgrad, shares, 1, 1, WGRAD_COLS, 8 * S::A_BLOCKS, false,
                       (bool)fused_wgrad->accumulate, fused_wgrad->c, 1});
  take_columns(&sums, p->product.epilogue.sums, shares, p->product.n, op->backward->bias_grad);
  return cuda_add_shares(k, &sums);
}

template <class S>
static int launch(struct kernels *k, const struct gemm *op, struct tma_wgrad p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool sums = op->backward->bias_grad != NULL;
  const int fixed = tma_wgrad_fixed(p.product.depth, sums);
  p.left_boxes = S::CHAINED_WGRAD ? (int)blocks_of(op->backward->chained_wgrad->a.cols, TMA_COLS<float>) : 0;
  const int room = room_for_ring(state, fixed);
  if (room < LEAST_WGRAD_BOXES) return OK;
  struct tma_wgrad_maps maps;
  const int64_t least = S::CHAINED_WGRAD
                            ? TERMS
                            : BOX_ROWS; /* a tile that is written must not reach into the next share */
  p.share = blocks_of(blocks_of(p.product.m, state->multiprocessors), least) * least;
  const unsigned shares = blocks_of(p.product.m, p.share);
  const int each = p.product.depth + p.product.boxes + p.left_boxes;
  p.product.ring = trimmed_ring(room, p.product.b_boxes + blocks_of(p.share, BOX_ROWS) * (int64_t)each);
  const int bytes = fixed + p.product.ring * BOX;
  *took = (S::CHAINED_WGRAD ? FUSED_CHAINED_WGRAD : 0) | (S::FUSED_WGRAD ? FUSED_WGRAD : 0);
  TRY(place_sums<S>(k, &p, shares, sums));
  TRY(make_maps<S>(op, p.product.epilogue, &maps));
  TRY_CUDA(cudaFuncSetAttribute(tma_wgrad_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY(pdl_launch(k, tma_wgrad_kernel<S>, shares, TWO_TEAMS_THREADS, bytes, maps, p));
  return end_launch<S>(k, op, &p, shares);
}

template <bool CHAINED_WGRAD>
static int launch_fused_wgrad(struct kernels *k, const struct gemm *op, const struct tma_wgrad &p,
                              int *took) {
  if (op->a.cols <= 48) return launch<tma_wgrad_shape<CHAINED_WGRAD, 6>>(k, op, p, took);
  return launch<tma_wgrad_shape<CHAINED_WGRAD, 16>>(k, op, p, took);
}

/* writes: boxes may hold all of dZ, of which op may be a panel. */
static int multiply_wgrad(struct kernels *k, const struct gemm *op, bool writes, int *took) {
  struct tma_wgrad p = {};
  struct tma_product &product = p.product;
  product.epilogue = gemm_epilogue_of(k, op);
  if (!can_be_wgrad(op, product.epilogue)) return OK;
  product.m = op->c.rows;
  product.n = (int)op->c.cols;
  product.transpose_b = true;
  product.depth = (int)blocks_of(op->a.cols, TMA_COLS<float>);
  product.boxes = (int)blocks_of(op->c.cols, TMA_COLS<float>);
  product.b_boxes = product.depth * (WGRAD_COLS / BOX_ROWS);
  const bool chains_wgrad = can_chain_wgrad(op->backward->chained_wgrad),
             fuses_wgrad = can_fuse_wgrad(op, product.epilogue);
  if (chains_wgrad)
    return fuses_wgrad ? launch_fused_wgrad<true>(k, op, p, took)
                       : launch<tma_wgrad_shape<true, 0>>(k, op, p, took);
  return fuses_wgrad && writes ? launch_fused_wgrad<false>(k, op, p, took) : OK;
}

/* What an op for some of dZ's columns is and points to. dZ of up to twice the kernel's columns goes by two
 * such panels. They have nothing in common but A and L, which are read for each. */
struct panel {
  struct gemm op, chained_wgrad, fused_wgrad;
  struct epilogue_backward backward;
  struct epilogue forward;
};

static bool goes_by_panels(const struct gemm *op) {
  return op->backward && op->c.cols > WGRAD_COLS + WGRAD_COLS / 2 && op->c.cols <= 2 * WGRAD_COLS;
}

static void take_panel(const struct gemm *op, int64_t first, int64_t cols, struct panel *p) {
  p->op = *op;
  p->backward = *op->backward;
  p->forward = *op->backward->forward;
  p->op.b = tensor_rows(op->b, first, cols);
  p->op.c = tensor_columns(op->c, first, cols);
  p->forward.z = tensor_columns(p->forward.z, first, cols);
  p->forward.y = tensor_columns(p->forward.y, first, cols);
  p->backward.forward = &p->forward;
  p->backward.dy = tensor_columns(p->backward.dy, first, cols);
  p->backward.dz = tensor_columns(p->backward.dz, first, cols);
  if (p->backward.bias_grad) p->backward.bias_grad = (float *)p->backward.bias_grad + first;
  p->op.backward = &p->backward;
  if (op->backward->chained_wgrad) {
    p->chained_wgrad = *op->backward->chained_wgrad;
    p->chained_wgrad.b = p->backward.dz;
    p->chained_wgrad.c = tensor_columns(p->chained_wgrad.c, first, cols);
    p->backward.chained_wgrad = &p->chained_wgrad;
  }
  if (op->fused_wgrad) {
    p->fused_wgrad = *op->fused_wgrad;
    p->fused_wgrad.a = tensor_columns(p->fused_wgrad.a, first, cols);
    p->fused_wgrad.c = tensor_rows(p->fused_wgrad.c, first, cols);
    p->op.fused_wgrad = &p->fused_wgrad;
  }
}

int cuda_gemm_tma_f32_wgrad(struct kernels *k, const struct gemm *op, int *took) {
  struct panel panel;
  const struct gemm_epilogue e = gemm_epilogue_of(k, op);
  const bool writes = cuda_takes_boxes(e.out);
  if (!goes_by_panels(op) || e.kind != EPILOGUE_BACKWARD_RELU) return multiply_wgrad(k, op, writes, took);
  for (int64_t first = 0; first < op->c.cols; first += WGRAD_COLS) {
    int took_panel = 0;
    take_panel(op, first, std::min<int64_t>(WGRAD_COLS, op->c.cols - first), &panel);
    TRY(multiply_wgrad(k, &panel.op, writes, &took_panel));
    assert(first == 0 || took_panel == *took); /* both are of the same shape but for the last columns */
    *took = took_panel;
    if (!*took) return OK;
  }
  return OK;
}
