/* What attention's weights in tiles are made of.
 *
 * A score is LeakyReLU(a + b), of a term of the row and one of the column. Both are kept times -.4 log2(e):
 * with s their sum, log2(e) LeakyReLU_.2(a + b) = |s| - 1.5 s, three instructions with the base that is
 * subtracted. The sign bit of s is that of an arc on the positive side: a + b = 0 leaves +0, since no term is
 * kept as -0, and is not.
 *
 * Terms of a segment's 64 columns stand together for each head; backward 64 numbers -log_sum in units of log
 * 2 and 64 deltas behind them. Forward also the lowest term for each segment and head: that of the highest
 * score, whatever the row. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TERMS_OF_TILES_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TERMS_OF_TILES_CUH

#include <cfloat>

#include "kernels/cuda/attention/tiles/attention_tiles.h"
#include "kernels/cuda/common/vec.cuh"

constexpr float TERM_FACTOR = -.4f * LOG2_E, SCORE_OF_SUM = -1.5f;
constexpr float LN_2 = 0.693147180559945f;
constexpr float NO_ARC = -1e30f; /* the max of a row without arcs, below every score */

template <bool FORWARD> struct tile_terms {
  static constexpr int STATS = FORWARD ? 1 : 3;
  static constexpr int FLOATS = STATS * TILE_COLS; /* of a segment and head */
};

static __device__ __forceinline__ float kept_term(float term) {
  return fmaf(TERM_FACTOR, term, 0.f); /* -0 becomes +0 */
}

/* In units of log 2, as the other kernels of attention round it. */
static __device__ __forceinline__ float in_log2(float x) {
  return __fmul_rn(x, LOG2_E);
}

/* log2 of a weight, from the sum of two kept terms. */
static __device__ __forceinline__ float log2_of_weight(float s, float minus_base) {
  return fabsf(s) + fmaf(SCORE_OF_SUM, s, minus_base);
}

/* The score of two kept terms, natural: the highest of a row, where `column` is the lowest. */
static __device__ __forceinline__ float score_of_terms(float row, float column) {
  return LN_2 * log2_of_weight(row + column, 0);
}

struct column_terms {
  const float *stats; /* [cols, stride] */
  int64_t stride;
  int32_t cols, heads;
  float *terms;  /* [segments, heads, FLOATS] */
  float *lowest; /* forward: [segments, heads] */
};

/* A block has a segment, a warp a head after the other, a thread two columns. */
template <bool FORWARD>
static __global__ void __launch_bounds__(BLOCK) column_terms_kernel(const struct column_terms op) {
  const int lane = (int)threadIdx.x % 32, first = (int)blockIdx.x * TILE_COLS + 2 * lane;
  for (int h = (int)threadIdx.x / 32; h < op.heads; h += BLOCK / 32) {
    const int64_t at = (int64_t)blockIdx.x * op.heads + h;
    float *to = op.terms + at * tile_terms<FORWARD>::FLOATS;
    float x[3][2] = {}, lowest = FLT_MAX;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      if (first + j >= op.cols) continue;
      const float *from = op.stats + (int64_t)(first + j) * op.stride + h;
      x[0][j] = kept_term(from[0]);
      lowest = fminf(lowest, x[0][j]);
      if (!FORWARD) x[1][j] = -in_log2(from[op.heads]), x[2][j] = from[2 * op.heads];
    }
#pragma unroll
    for (int s = 0; s < tile_terms<FORWARD>::STATS; s++)
      *(float2 *)(to + s * TILE_COLS + 2 * lane) = make_float2(x[s][0], x[s][1]);
    if constexpr (FORWARD) {
#pragma unroll
      for (int o = 1; o < 32; o *= 2) lowest = fminf(lowest, __shfl_xor_sync(~0u, lowest, o));
      if (lane == 0) op.lowest[at] = lowest;
    }
  }
}

#endif
