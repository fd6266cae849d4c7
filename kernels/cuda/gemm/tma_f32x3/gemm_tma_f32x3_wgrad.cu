/* dZ = end'(A B^T) of floats with gradients of weights: shapes, memory and launch of the kernel in
 * gemm_tma_f32x3_wgrad.cuh. */
#include <algorithm>
#include <cassert>

#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/tma_f32x3/gemm_tma_f32x3_wgrad.cuh"

constexpr int LEAST_ALONG_BOXES = 8; /* of the ring: a tile of one matrix, and one on its way */

static bool can_be_ring(const struct gemm *op, const struct end &e) {
  return op->backward && op->transpose_b && op->a.cols <= ALONG_COLS && op->c.cols > ALONG_COLS / 2 &&
         op->c.cols <= ALONG_COLS && e.kind == END_BACKWARD_RELU && op->a.rows > 0 && op->a.cols > 0 &&
         cuda_is_aligned(op->a) && cuda_is_aligned(op->b) && !op->a2.data;
}

static bool can_follow(const struct gemm *then) {
  return then && then->a.cols <= ALONG_COLS && then->a.cols > 0 && cuda_is_aligned(then->a);
}

/* The saved output must be what the gradient is of. */
static bool can_go_beside(const struct gemm *op, const struct end &e) {
  const struct gemm *beside = op->beside;
  return beside && beside->a.data == e.saved.data && beside->a.stride == e.saved.stride;
}

/* The arrays that a launch leaves in the workspace, one after the other. */
template <class S>
static int place_sums(struct kernels *k, struct ring_along *p, unsigned shares, bool sums) {
  const int64_t then = S::THEN ? (int64_t)shares * p->left_boxes * RING_COLS * ALONG_COLS : 0,
                beside = S::BESIDE ? (int64_t)shares * ALONG_COLS * 8 * S::A_BLOCKS : 0;
  float *from = NULL;
  TRY(kernels_workspace(k,
                        (then + beside) * (int64_t)sizeof *from +
                            (sums ? shares * p->product.n * (int64_t)sizeof(double) : 0),
                        (void **)&from));
  p->then = from;
  p->beside = from + then;
  p->product.end.sums = sums ? (double *)(from + then + beside) : NULL;
  return OK;
}

template <class S>
static int make_maps(const struct gemm *op, const struct end &e, struct ring_along_maps *maps) {
  TRY(cuda_bulk_map(op->a, BOX_ROWS, &maps->a));
  TRY(cuda_bulk_map(op->b, BOX_ROWS, &maps->b));
  TRY(cuda_bulk_map(e.saved, BOX_ROWS, &maps->saved));
  if (S::THEN) return cuda_bulk_map(op->backward->then->a, BOX_ROWS, &maps->left);
  return cuda_bulk_map(e.out, BOX_ROWS, &maps->out);
}

/* Adds up what the shares left. */
template <class S>
static int end_launch(struct kernels *k, const struct gemm *op, const struct ring_along *p, unsigned shares) {
  const struct gemm *then = op->backward->then, *beside = op->beside;
  struct share_sums sums = {};
  if (S::THEN)
    take_tiles(&sums, {p->then, shares, 1, 1, p->left_boxes * RING_COLS, ALONG_COLS, false,
                       (bool)then->accumulate, then->c, 1});
  if (S::BESIDE)
    take_tiles(&sums, {p->beside, shares, 1, 1, ALONG_COLS, 8 * S::A_BLOCKS, false, (bool)beside->accumulate,
                       beside->c, 1});
  take_columns(&sums, p->product.end.sums, shares, p->product.n, op->backward->bias_grad);
  return cuda_add_shares(k, &sums);
}

template <class S>
static int launch(struct kernels *k, const struct gemm *op, struct ring_along p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool sums = op->backward->bias_grad != NULL;
  const int fixed = ring_along_fixed(p.product.depth, sums);
  p.left_boxes = S::THEN ? (int)blocks_of(op->backward->then->a.cols, RING_COLS) : 0;
  p.product.ring = min(MOST_BOXES, (state->shared_bytes - BULK_ALIGNMENT - fixed) / BOX);
  if (p.product.ring < LEAST_ALONG_BOXES) return OK;
  const int bytes = fixed + p.product.ring * BOX;
  struct ring_along_maps maps;
  const int64_t least = S::THEN ? TERMS
                                : BOX_ROWS; /* a tile that is written must not reach into the next share */
  p.share = blocks_of(blocks_of(p.product.m, state->multiprocessors), least) * least;
  const unsigned shares = blocks_of(p.product.m, p.share);
  *took = (S::THEN ? ALONG_THEN : 0) | (S::BESIDE ? ALONG_BESIDE : 0);
  TRY(place_sums<S>(k, &p, shares, sums));
  TRY(make_maps<S>(op, p.product.end, &maps));
  TRY_CUDA(cudaFuncSetAttribute(ring_along_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY(launch_behind(k, ring_along_kernel<S>, shares, TWO_TEAMS_THREADS, bytes, maps, p));
  return end_launch<S>(k, op, &p, shares);
}

template <bool THEN>
static int launch_beside(struct kernels *k, const struct gemm *op, const struct ring_along &p, int *took) {
  if (op->a.cols <= 48) return launch<ring_along_shape<THEN, 6>>(k, op, p, took);
  return launch<ring_along_shape<THEN, 16>>(k, op, p, took);
}

/* writes: boxes may hold all of dZ, of which op may be a panel. */
static int multiply_along(struct kernels *k, const struct gemm *op, bool writes, int *took) {
  struct ring_along p = {};
  struct ring_product &product = p.product;
  product.end = end_of(k, op);
  if (!can_be_ring(op, product.end)) return OK;
  product.m = op->c.rows;
  product.n = (int)op->c.cols;
  product.transpose_b = true;
  product.depth = (int)blocks_of(op->a.cols, RING_COLS);
  product.boxes = (int)blocks_of(op->c.cols, RING_COLS);
  product.b_boxes = product.depth * (ALONG_COLS / BOX_ROWS);
  const bool follows = can_follow(op->backward->then), goes_beside = can_go_beside(op, product.end);
  if (follows)
    return goes_beside ? launch_beside<true>(k, op, p, took)
                       : launch<ring_along_shape<true, 0>>(k, op, p, took);
  return goes_beside && writes ? launch_beside<false>(k, op, p, took) : OK;
}

/* What an op for some of dZ's columns is and points to. dZ of up to twice the kernel's columns goes by two
 * such panels. They have nothing in common but A and L, which are read for each. */
struct panel {
  struct gemm op, then, beside;
  struct update_backward backward;
  struct update forward;
};

static bool goes_by_panels(const struct gemm *op) {
  return op->backward && op->c.cols > ALONG_COLS + ALONG_COLS / 2 && op->c.cols <= 2 * ALONG_COLS;
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
  if (op->backward->then) {
    p->then = *op->backward->then;
    p->then.b = p->backward.dz;
    p->then.c = tensor_columns(p->then.c, first, cols);
    p->backward.then = &p->then;
  }
  if (op->beside) {
    p->beside = *op->beside;
    p->beside.a = tensor_columns(p->beside.a, first, cols);
    p->beside.c = tensor_rows(p->beside.c, first, cols);
    p->op.beside = &p->beside;
  }
}

int cuda_gemm_ring_along(struct kernels *k, const struct gemm *op, int *took) {
  struct panel panel;
  const struct end e = end_of(k, op);
  const bool writes = cuda_takes_boxes(e.out);
  if (!goes_by_panels(op) || e.kind != END_BACKWARD_RELU) return multiply_along(k, op, writes, took);
  for (int64_t first = 0; first < op->c.cols; first += ALONG_COLS) {
    int took_panel = 0;
    take_panel(op, first, std::min<int64_t>(ALONG_COLS, op->c.cols - first), &panel);
    TRY(multiply_along(k, &panel.op, writes, &took_panel));
    assert(first == 0 || took_panel == *took); /* both are of the same shape but for the last columns */
    *took = took_panel;
    if (!*took) return OK;
  }
  return OK;
}
