/* C = A^T B of floats: shapes, memory and launch of the kernel in gemm_tma_splitk_f32.cuh. */
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/tma/gemm_tma_splitk_f32.cuh"

/* Shares of the rows: one for each multiprocessor and tile, of four parts at least. */
static int64_t shares_of(const struct cuda_state *state, int64_t rows, int64_t tiles, int64_t part) {
  const int64_t most = max((int64_t)1, state->multiprocessors / tiles);
  return min(most, (rows + 4 * part - 1) / (4 * part));
}

template <class S> static int run(struct kernels *k, const struct gemm *op, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct tensor left = is_turned ? op->b : op->a, right = is_turned ? op->a : op->b;
  struct tma_splitk_maps maps;
  struct tma_splitk p = {};
  p.left = (int)left.cols;
  p.right = (int)right.cols;
  p.right_tiles = (int)blocks_of(right.cols, S::RIGHT);
  p.tiles = (int)blocks_of(left.cols, S::LEFT) * p.right_tiles;
  p.product.m = left.rows;
  const int64_t most = shares_of(state, left.rows, p.tiles, BOX_ROWS / 2);
  p.share = blocks_of(blocks_of(left.rows, most), TERMS) * (int64_t)TERMS;
  const unsigned shares = blocks_of(left.rows, p.share);
  const int each = (int)(blocks_of(min(S::LEFT, p.left), TMA_COLS<float>) +
                         blocks_of(min(S::RIGHT, p.right), TMA_COLS<float>));
  p.product.ring = trimmed_ring(room_for_ring(state, S::FIXED), blocks_of(p.share, BOX_ROWS) * (int64_t)each);
  const int bytes = S::FIXED + p.product.ring * BOX;
  TRY(cuda_tma_map(left, BOX_ROWS, &maps.left));
  TRY(cuda_tma_map(right, BOX_ROWS, &maps.right));
  TRY(kernels_workspace(k, (int64_t)shares * p.tiles * S::LEFT * S::RIGHT * (int64_t)sizeof(float),
                        (void **)&p.partial));
  TRY_CUDA(cudaFuncSetAttribute(tma_splitk_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY(pdl_launch(k, tma_splitk_kernel<S>, shares * (unsigned)p.tiles, TWO_TEAMS_THREADS, bytes, maps, p));
  struct share_sums sums = {};
  take_tiles(&sums, {p.partial, shares, p.tiles, p.right_tiles, S::LEFT, S::RIGHT, is_turned,
                     (bool)op->accumulate, op->c, op->factor ? (float)*op->factor : 1});
  return cuda_add_shares(k, &sums);
}

int cuda_gemm_tma_f32_splitk(struct kernels *k, const struct gemm *op, int *took) {
  const bool is_turned = op->c.cols > op->c.rows, narrow = min(op->c.rows, op->c.cols) <= 48;
  *took = cuda_is_aligned(op->a) && cuda_is_aligned(op->b);
  if (!*took) return OK;
  if (max(op->c.rows, op->c.cols) <= 128)
    return narrow ? run<tma_splitk_shape<1, 6>>(k, op, is_turned)
                  : run<tma_splitk_shape<1, 16>>(k, op, is_turned);
  return narrow ? run<tma_splitk_shape<2, 6>>(k, op, is_turned)
                : run<tma_splitk_shape<2, 16>>(k, op, is_turned);
}
