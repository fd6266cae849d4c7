/* Rows of a window of tiles that are summed arc by arc: those with a sum that is not finite, since 0 times
 * what is not finite reaches rows without such an arc too; forward those whose scores lie so far below the
 * highest one of all columns that their weights vanished; backward those with a factor so high that columns'
 * factors which vanished would count. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_AGAIN_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_AGAIN_CUH

#include "kernels/cuda/attention/tiles/attention_tiles_product.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* What scores are relative to: the base that the row has had; or, where its weights vanished beside that, its
 * own highest score. All blocks of a head have found the same sum of weights. */
template <class S>
static __device__ float base_again(const struct attention_product &op, const struct window_piece &w,
                                   const attention_block<S> &block, int r, int c, float mine) {
  float base = LOWEST;
  if (block.all[c][r] >= LEAST_ALL) return block.row[c][r].base;
  each_arc(op, w, r, [&](int32_t segment, int u) {
    const struct column_numbers of = column_numbers_of<true>(op.columns, segment * TILE_COLS + u,
                                                             block.chunk[c].head);
    base = fmaxf(base, leaky(mine + of.term));
  });
  return base;
}

/* One column of row r, by one thread. */
template <class S>
static __device__ void column_again(const struct attention_product &op, const struct window_piece &w,
                                    const attention_block<S> &block, int r, int j) {
  const auto &chunk = block.chunk[j / S::N];
  const int32_t col = (int32_t)blockIdx.y * S::COLUMNS + j, head = chunk.head;
  const int32_t x_col = chunk.x_col + j % S::N;
  const float mine = row_term(op, w.window, r, head);
  const float base = S::FORWARD ? base_again(op, w, block, r, j / S::N, mine) : 0;
  float all = 0, some = 0, sum = 0, positive = 0;
  each_arc(op, w, r, [&](int32_t segment, int u) {
    const int32_t at = segment * TILE_COLS + u;
    const struct column_numbers of = column_numbers_of<S::FORWARD>(op.columns, at, head);
    const float s = mine + of.term;
    const float weight = exp2_of(fmaf(leaky(s), LOG2_E, -scaled(S::FORWARD ? base : of.log_sum)));
    const float number = weight * of.delta,
                value = col >= op.width ? 0 : (float)op.x[at * op.x_stride + x_col];
    all += number;
    sum += weight * value;
    if (s > 0) some += number, positive += weight * value;
  });
  float *row = sums_of_row(op, w.place, r);
  if (col < kept_columns(op)) row[col] = op.factor * sum, row[kept_columns(op) + col] = op.factor * positive;
  if (chunk.first && j % S::N == 0) write_numbers(op, row, head, base, all, some);
}

/* By a warp a row. */
template <class S>
static __device__ __noinline__ void rows_again(const struct attention_product &op,
                                               const attention_block<S> &block) {
  const struct window_piece w = op.piece[blockIdx.x];
  for (int r = (int)threadIdx.x / 32; r < TILE_ROWS; r += BLOCK / 32) {
    if (!block.again[r]) continue;
    for (int j = (int)threadIdx.x % 32; j < S::COLUMNS; j += 32)
      if (block.chunk[j / S::N].there) column_again(op, w, block, r, j);
  }
}

#endif

#endif
