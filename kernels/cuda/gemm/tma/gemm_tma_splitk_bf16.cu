/* C = A^T B of bf16: shapes, memory and launch of the kernel in gemm_tma_splitk_bf16.cuh. */
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/tma/gemm_tma_splitk_bf16.cuh"

constexpr int TILE_BOXES = 4; /* of left columns, at most */

template <int BLOCKS, int EACH>
static int run(struct kernels *k, const struct gemm *op, struct tma_bf16_splitk p, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct tensor left = is_turned ? op->b : op->a, right = is_turned ? op->a : op->b;
  struct tma_bf16_splitk_maps maps;
  struct share_sums sums = {};
  TRY(cuda_tma_map(left, BOX_ROWS, &maps.left));
  TRY(cuda_tma_map(right, BOX_ROWS, &maps.right));
  p.rows = left.rows;
  p.slots = min(MOST_SLOTS, (state->shared_bytes - TMA_ALIGNMENT) / part_bytes(p.boxes));
  p.share = blocks_of(blocks_of(p.rows, max(1, state->multiprocessors / p.tiles)), TERMS) * (int64_t)TERMS;
  const int bytes = p.slots * part_bytes(p.boxes), cols = p.boxes * BOX_COLS;
  const unsigned shares = blocks_of(p.rows, p.share);
  TRY(kernels_workspace(k, (int64_t)shares * p.tiles * cols * 8 * BLOCKS * (int64_t)sizeof(float),
                        (void **)&p.partial));
  TRY_CUDA(cudaFuncSetAttribute(tma_bf16_splitk_kernel<BLOCKS, EACH>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY((pdl_launch(k, tma_bf16_splitk_kernel<BLOCKS, EACH>, shares * (unsigned)p.tiles, FED_THREADS, bytes,
                  maps, p)));
  take_tiles(&sums, {p.partial, shares, p.tiles, 1, cols, 8 * BLOCKS, is_turned, (bool)op->accumulate, op->c,
                     op->factor ? (float)*op->factor : 1});
  return cuda_add_shares(k, &sums);
}

int cuda_gemm_tma_bf16_splitk(struct kernels *k, const struct gemm *op, int *took) {
  const bool is_turned = op->c.cols > op->c.rows, narrow = min(op->c.rows, op->c.cols) <= 48;
  const int boxes = (int)blocks_of(max(op->c.rows, op->c.cols), BOX_COLS);
  struct tma_bf16_splitk p = {};
  *took = min(op->c.rows, op->c.cols) <= BOX_COLS && cuda_is_boxed(op->a) && cuda_is_boxed(op->b);
  if (!*took) return OK;
  p.tiles = (int)blocks_of(boxes, TILE_BOXES);
  p.boxes = (int)blocks_of(boxes, p.tiles);
  if (p.boxes <= TEAMS) return narrow ? run<6, 1>(k, op, p, is_turned) : run<8, 1>(k, op, p, is_turned);
  return narrow ? run<6, 2>(k, op, p, is_turned) : run<8, 2>(k, op, p, is_turned);
}
