/* Y = end(A B) of floats, then Y2 = end2(Y B2): shapes, memory and launch of the kernel in
 * gemm_ring_next.cuh. */
#include "kernels/cuda/gemm/gemm_end_of.cuh"
#include "kernels/cuda/gemm/gemm_ring_next.cuh"

/* Of the ring: a tile and a half, and more than the teams' boxes of B may be apart. */
constexpr int LEAST_NEXT_BOXES = 2 * MOST_TEAMS;

static int least_boxes(int depth) {
  return max(LEAST_NEXT_BOXES, depth + (depth + 1) / 2);
}

static bool has_no_norm(const struct gemm *op) {
  return !op->update || op->update->norm == NORM_NONE;
}

static bool can_be_first(const struct gemm *op, const struct end &e) {
  const bool usual = e.kind == END_FORWARD || (e.kind == END_PLAIN && !e.scale);
  return usual && has_no_norm(op) && !op->backward && !op->transpose_a && !op->transpose_b && !op->a2.data &&
         op->a.rows > 0 && op->a.cols > 0 && op->c.cols > 0 && op->c.cols <= 128 && cuda_is_aligned(op->a) &&
         cuda_is_aligned(op->b) && cuda_takes_boxes(e.out);
}

static bool can_be_second(const struct gemm *next, const struct end &e) {
  return e.kind == END_PLAIN && has_no_norm(next) && !next->transpose_b && next->c.cols > 0 &&
         next->c.cols <= 128 && cuda_is_aligned(next->b) && cuda_takes_boxes(e.out);
}

static int make_maps(const struct gemm *op, const struct ring_next &p, struct ring_next_maps *maps) {
  TRY(cuda_bulk_map(op->a, p.first.height, &maps->first.a));
  TRY(cuda_bulk_map(op->b, BOX_ROWS, &maps->first.b));
  TRY(cuda_bulk_map(p.first.end.out, p.first.height, &maps->first.out));
  TRY(cuda_bulk_map(op->next->b, BOX_ROWS, &maps->second.b));
  return cuda_bulk_map(p.second.end.out, p.second.height, &maps->second.out);
}

template <int BLOCKS, int BLOCKS2>
static int run(struct kernels *k, const struct gemm *op, struct ring_next p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const int fixed = ring_next_fixed<BLOCKS, BLOCKS2>(p.first.depth);
  const int ring = min(MOST_BOXES, (state->shared_bytes - BULK_ALIGNMENT - fixed) / BOX);
  const int bytes = fixed + ring * BOX;
  struct ring_next_maps maps = {};
  if (ring < least_boxes(p.first.depth)) return OK;
  *took = ALONG_NEXT;
  p.first.ring = p.second.ring = ring;
  p.second.depth = NEXT_DEPTH<BLOCKS>;
  lay_ring<BLOCKS>(state->multiprocessors, p.first);
  lay_ring<BLOCKS2>(state->multiprocessors, p.second);
  TRY(make_maps(op, p, &maps));
  TRY_CUDA(cudaFuncSetAttribute(ring_next_kernel<BLOCKS, BLOCKS2>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return launch_behind(k, ring_next_kernel<BLOCKS, BLOCKS2>,
                       (unsigned)min((int64_t)state->multiprocessors, p.first.tiles),
                       (RING_TEAMS<BLOCKS> + 1) * TEAM, bytes, maps, p);
}

/* Three teams have too few registers for more than 64 columns of both. */
static int choose(struct kernels *k, const struct gemm *op, const struct ring_next &p, int *took) {
  if (p.second.n > 64) return run<16, 16>(k, op, p, took);
  if (p.second.n > 48) return p.first.n <= 64 ? run<8, 8>(k, op, p, took) : run<16, 8>(k, op, p, took);
  return p.first.n <= 64 ? run<8, 6>(k, op, p, took) : run<16, 6>(k, op, p, took);
}

int cuda_gemm_ring_next(struct kernels *k, const struct gemm *op, int *took) {
  struct ring_next p = {};
  p.first.end = end_of(k, op);
  p.second.end = end_of(k, op->next);
  if (!can_be_first(op, p.first.end) || !can_be_second(op->next, p.second.end)) return OK;
  p.first.m = p.second.m = op->c.rows;
  p.first.n = (int)op->c.cols;
  p.first.depth = (int)blocks_of(op->a.cols, RING_COLS);
  p.second.n = (int)op->next->c.cols;
  return choose(k, op, p, took);
}
