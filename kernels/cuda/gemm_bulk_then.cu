/* dZ = end'(A B^T) and L^T dZ of bf16 at once: shapes, memory and launch of the kernel in gemm_bulk_then.cuh.
 */
#include "kernels/cuda/gemm_bulk_then.cuh"
#include "kernels/cuda/gemm_end_of.cuh"
#include "kernels/cuda/partials.cuh"

constexpr int MOST_LEFT = TEAMS * BOX_COLS, LEAST_THEN_SLOTS = 2;

static bool can_be_bulk(const struct gemm *op, const struct gemm *then, const struct end &e) {
  return op->transpose_b && op->a.cols <= MOST_BOX_ROWS && op->c.cols > BOX_COLS &&
         op->c.cols <= MOST_BOX_ROWS && then->a.cols <= MOST_LEFT && e.kind == END_BACKWARD_RELU &&
         op->a.rows > 0 && op->a.cols > 0 && cuda_is_boxed(op->a) && cuda_is_boxed(op->b) &&
         cuda_is_boxed(e.saved) && cuda_is_boxed(then->a);
}

template <int BLOCKS>
static int launch(struct kernels *k, const struct gemm *op, struct then_product *p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct gemm *then = op->backward->then;
  const bool sums = op->backward->bias_grad != NULL;
  const int slot = then_slot_bytes(8 * BLOCKS, p->depth, p->left_boxes);
  const int fixed = panel_bytes(8 * BLOCKS, p->depth) +
                    (sums ? TEAMS * TEAM / 32 * 4 * BLOCKS * (int)sizeof(double) : 0);
  p->slots = min(MOST_SLOTS, (state->shared_bytes - BULK_ALIGNMENT - fixed) / slot);
  if (p->slots < LEAST_THEN_SLOTS) return OK;
  *took = 1;
  const int bytes = fixed + p->slots * slot;
  const unsigned shares = blocks_of(p->m, p->share);
  const int64_t partial = (int64_t)shares * p->left_boxes * BOX_COLS * 8 * BLOCKS;
  struct then_maps maps;
  TRY(kernels_workspace(
      k, partial * (int64_t)sizeof(float) + (sums ? shares * p->n * (int64_t)sizeof(double) : 0),
      (void **)&p->partial));
  if (sums) p->end.sums = (double *)(p->partial + partial);
  TRY(cuda_bulk_map(op->a, BOX_ROWS, &maps.a));
  TRY(cuda_bulk_map(op->b, 8 * BLOCKS, &maps.b));
  TRY(cuda_bulk_map(p->end.saved, BOX_ROWS, &maps.saved));
  TRY(cuda_bulk_map(then->a, BOX_ROWS, &maps.left));
  TRY_CUDA(cudaFuncSetAttribute(then_kernel<BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  then_kernel<BLOCKS><<<shares, TEAMS * TEAM, (size_t)bytes, cuda_stream(k)>>>(maps, *p);
  TRY_LAUNCH();
  if (sums) TRY(cuda_add_partials(k, p->end.sums, shares, p->n, (float *)op->backward->bias_grad));
  const struct tile_sum sum = {
      p->partial, shares, 1, 1, p->left_boxes * BOX_COLS, 8 * BLOCKS, false, (bool)then->accumulate, then->c};
  return cuda_add_tiles(k, &sum, then->a.cols, op->c.cols);
}

int cuda_gemm_bulk_then(struct kernels *k, const struct gemm *op, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct gemm *then = op->backward->then;
  struct then_product p = {};
  p.end = end_of(k, op);
  if (!can_be_bulk(op, then, p.end)) return OK;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.share = blocks_of(blocks_of(p.m, state->multiprocessors), TERMS) * (int64_t)TERMS;
  p.steps = (int)blocks_of(op->a.cols, TERMS);
  p.depth = (int)blocks_of(op->a.cols, BOX_COLS);
  p.boxes = (int)blocks_of(op->c.cols, BOX_COLS);
  p.left_boxes = (int)blocks_of(then->a.cols, BOX_COLS);
  return op->c.cols <= 128 ? launch<16>(k, op, &p, took) : launch<32>(k, op, &p, took);
}
