/* Y = end(A B) and Y2 = end(Y B2) of bf16 in one kernel: shapes, memory and launch of gemm_bulk_next.cuh. */
#include "kernels/cuda/gemm/gemm_bulk_next.cuh"
#include "kernels/cuda/gemm/gemm_end_of.cuh"

static bool is_usual(enum end_kind kind) {
  return kind == END_PLAIN || kind == END_FORWARD;
}

/* C is tall and of few columns, and all can be boxes; no norm follows. */
static bool can_be_bulk(const struct gemm *op, const struct end &e) {
  return (!op->update || op->update->norm == NORM_NONE) && op->c.rows > 0 && op->c.cols > 0 &&
         op->a.cols > 0 && op->a.cols <= MOST_BOX_ROWS && op->c.cols <= MOST_BOX_ROWS && !op->a2.data &&
         !op->transpose_b && !op->moments && cuda_is_boxed(op->a) && cuda_is_boxed(op->b) &&
         cuda_is_boxed(e.out) && cuda_takes_boxes(e.out);
}

static int make_maps(const struct gemm *op, const struct next_product &p, struct next_maps *maps) {
  TRY(cuda_bulk_map(op->a, p.first.height, &maps->first.a));
  TRY(cuda_bulk_map(op->b, p.first.depth * BOX_COLS, &maps->first.b));
  TRY(cuda_bulk_map(p.first.end.out, p.first.height, &maps->first.out));
  TRY(cuda_bulk_map(op->next->b, p.depth * BOX_COLS, &maps->b));
  return cuda_bulk_map(p.end.out, p.first.height, &maps->out);
}

template <class S>
static int launch(struct kernels *k, const struct gemm *op, struct next_product p, int *took) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const int fixed = fixed_bytes<S>(p), slot = slot_bytes(S::COLS, p.first.depth, false);
  const int room = min(MOST_SLOTS, (state->shared_bytes - BULK_ALIGNMENT - fixed) / slot);
  p.first.slots = room / S::TEAMS_HERE * S::TEAMS_HERE; /* each is one team's */
  if (p.first.slots < S::TEAMS_HERE) return OK;
  const int bytes = fixed + p.first.slots * slot;
  const unsigned blocks = lay_tiles(state->multiprocessors, &p.first);
  struct next_maps maps;
  *took = ALONG_NEXT;
  TRY(make_maps(op, p, &maps));
  TRY_CUDA(cudaFuncSetAttribute(bulk_next_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return launch_behind(k, bulk_next_kernel<S>, blocks, S::THREADS, bytes, maps, p);
}

/* Registers hold no more sums of both. */
template <int BLOCKS>
static int choose(struct kernels *k, const struct gemm *op, const struct next_product &p, int *took) {
  if (p.n <= 48) return launch<next_shape<BLOCKS, 6>>(k, op, p, took);
  if (p.n <= 64) return launch<next_shape<BLOCKS, 8>>(k, op, p, took);
  if constexpr (BLOCKS <= 16) {
    if (p.n <= 128) return launch<next_shape<BLOCKS, 16>>(k, op, p, took);
  }
  return OK;
}

int cuda_gemm_bulk_next(struct kernels *k, const struct gemm *op, int *took) {
  const struct gemm *next = op->next;
  struct next_product p = {};
  struct bulk_product &first = p.first;
  first.end = end_of(k, op);
  p.end = end_of(k, next);
  if (!is_usual(first.end.kind) || p.end.kind != END_PLAIN || !can_be_bulk(op, first.end) ||
      !can_be_bulk(next, p.end))
    return OK;
  const struct terms_in_boxes terms = terms_of(op), next_terms = terms_of(next);
  first.m = op->c.rows;
  first.n = (int)op->c.cols;
  first.steps = terms.steps;
  first.depth = terms.depth;
  first.boxes = (int)blocks_of(first.n, BOX_COLS);
  p.n = (int)next->c.cols;
  p.steps = next_terms.steps;
  p.depth = next_terms.depth;
  p.boxes = (int)blocks_of(p.n, BOX_COLS);
  if (first.n <= 64) return choose<8>(k, op, p, took);
  return first.n <= 128 ? choose<16>(k, op, p, took) : choose<32>(k, op, p, took);
}
