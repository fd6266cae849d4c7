/* Rows of a window of tiles that are summed arc by arc: those with a sum that is not finite, since 0 times
 * what is not finite reaches rows without such an arc too, and forward those whose scores lie so far below
 * the highest one of all columns of the piece that their weights vanished. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_AGAIN_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_AGAIN_CUH

#include "kernels/cuda/attention/tiles/attention_tiles_product.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Calls arc(segment, column of it) for the arcs of row r, in order. */
template <class ARC>
static __device__ __forceinline__ void each_arc(const struct attention_product &op,
                                                const struct window_piece &w, int r, const ARC &arc) {
  for (int t = w.first; t < w.end; t++) {
    const uint32_t *bits = op.bits + (int64_t)t * TILE_WORDS + r / 16 * STRIP_WORDS + r % 8 * 4;
    for (int q = 0; q < 4; q++) {
      uint32_t word = bits[q] & (r % 16 < 8 ? 0x55555555u : 0xAAAAAAAAu); /* see tile_bit_of */
      for (; word; word &= word - 1) {
        const int b = __ffs(word) - 1;
        arc(op.segment[t], b % 16 / 4 * 16 + b % 4 / 2 * 8 + 2 * q + b / 16);
      }
    }
  }
}

/* Numbers of a column for a head. */
struct column_numbers {
  float term, minus_base, delta; /* the latter two backward */
};

template <class S>
static __device__ __forceinline__ struct column_numbers
column_numbers_of(const struct attention_product &op, int32_t segment, int u, int32_t head) {
  const float *from = op.terms + ((int64_t)segment * op.heads + head) * S::FLOATS;
  if (S::FORWARD) return {from[u], 0, 1};
  return {from[u], from[TILE_COLS + u], from[2 * TILE_COLS + u]};
}

/* One column of row r, by one thread. Whether the row keeps its base hangs on its sum of weights, which all
 * blocks of a head have found alike. */
template <class S>
static __device__ void column_again(const struct attention_product &op, const struct window_piece &w,
                                    const attention_block<S> &block, int r, int j) {
  const auto &chunk = block.chunk[j / S::N];
  const int32_t col = (int32_t)blockIdx.y * S::COLUMNS + j, head = chunk.head;
  const int32_t x_col = chunk.x_col + j % S::N;
  const float mine = block.row[j / S::N][r].x;
  float lowest = chunk.lowest, max = 0, all = 0, some = 0, sum = 0, positive = 0;
  if (S::FORWARD) {
    if (!(block.all[j / S::N][r] >= LEAST_ALL)) {
      lowest = FLT_MAX;
      each_arc(op, w, r, [&](int32_t segment, int u) {
        lowest = fminf(lowest, column_numbers_of<S>(op, segment, u, head).term);
      });
    }
    max = score_of_terms(mine, lowest);
  }
  each_arc(op, w, r, [&](int32_t segment, int u) {
    const struct column_numbers c = column_numbers_of<S>(op, segment, u, head);
    const float s = mine + c.term;
    const float weight = exp2_of(log2_of_weight(s, S::FORWARD ? -in_log2(max) : c.minus_base));
    const float number = weight * c.delta,
                value = col >= op.width
                            ? 0
                            : (float)op.x[(int64_t)(segment * TILE_COLS + u) * op.x_stride + x_col];
    all += number;
    sum += weight * value;
    if (s < 0) some += number, positive += weight * value;
  });
  float *row = sums_of_row(op, w.place, r);
  if (col < kept_columns(op)) row[col] = op.factor * sum, row[kept_columns(op) + col] = op.factor * positive;
  if (chunk.first && j % S::N == 0) write_numbers(op, row, head, max, all, some);
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
