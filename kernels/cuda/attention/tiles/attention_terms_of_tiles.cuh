/* What attention's weights in tiles are made of.
 *
 * The weight of an arc is exp(LeakyReLU(a + b) - l), of terms a of the row and b of the column; l, a number
 * of the column backward, is 0 forward, where a base of the row is taken off at the end. On LeakyReLU's
 * positive side that is exp(a) times exp(b - l), on its negative one exp(.2 a) times exp(.2 b - l): a factor
 * of the row, which multiplies its finished sum, and one of the column, which the cells of its arcs take. No
 * cell multiplies or exponentiates.
 *
 * Factors of columns are relative to the highest one of the head, so that they are 1 at most, and rounded to
 * bf16, once. Which side an arc is on tells a comparison of a with -b, rounded to halves, alike in both
 * directions: equal ones are on the negative side, as a + b = 0 is. It is wrong only where |a + b| < 2^-10
 * |a|, or 2^-16; both sides' weights are alike there, up to a factor of exp(.8 |a + b|). */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TERMS_OF_TILES_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TERMS_OF_TILES_CUH

#include <cfloat>

#include "kernels/cuda/attention/tiles/attention_tiles.h"
#include "kernels/cuda/common/score.cuh"

/* Heads of neighbouring chunks of a block, whose numbers lie in columns of their own of one product. */
constexpr int SLOTS = 4;

/* Words that tiles read of a segment's 64 columns for a head. A thread's columns of a step of 16 terms are
 * two pairs, 8 apart: first for each step and quarter of a warp's lanes the factors of both sides for one
 * pair, then for the other; then for each the negative terms of both pairs; backward at last for each column
 * a row of eight numbers of bf16: delta as the sum of two stands at its head's slot. */
template <bool FORWARD> struct tile_terms {
  static constexpr int NEGATIVES = TILE_COLS, DELTAS = NEGATIVES + TILE_COLS / 2;
  static constexpr int WORDS = DELTAS + (FORWARD ? 0 : TILE_COLS * SLOTS);
};

/* Two terms as halves of a word, so small that none is infinite below 2^23. */
static __device__ __forceinline__ uint32_t pair_of_halves(float x, float y) {
  constexpr float FACTOR = 0x1p-8f;
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(FACTOR * y), "f"(FACTOR * x));
  return pair;
}

/* Floats as words of the same order, all above 0; and back. */
static __device__ __forceinline__ uint32_t ordered(float x) {
  const uint32_t bits = __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 1u << 31;
}

static __device__ __forceinline__ float of_ordered(uint32_t word) {
  return __uint_as_float(word >> 31 ? word ^ 1u << 31 : ~word);
}

struct column_terms {
  const float *stats; /* [cols, stride] */
  int64_t stride;
  int32_t cols, heads, segments;
  uint32_t *highest; /* [heads, 2] ordered logarithms of the highest factors of both sides, first 0 */
  uint32_t *terms;   /* [segments, heads, WORDS] */
};

/* What a column has for a head. */
struct column_numbers {
  float term, log_sum, delta; /* the latter two backward */
};

template <bool FORWARD>
static __device__ __forceinline__ struct column_numbers column_numbers_of(const struct column_terms &op,
                                                                          int32_t col, int32_t head) {
  const float *from = op.stats + col * op.stride + head;
  if (FORWARD) return {__ldg(from), 0, 1};
  return {__ldg(from), __ldg(from + op.heads), __ldg(from + 2 * op.heads)};
}

/* Logarithms of a column's factors. */
static __device__ __forceinline__ float2 logs_of(const struct column_numbers &of) {
  return make_float2(of.term - of.log_sum, SCORE_SLOPE * of.term - of.log_sum);
}

/* A block has one segment after the other, a warp a head after the other, a thread two columns. */
template <bool FORWARD>
static __global__ void __launch_bounds__(BLOCK) highest_terms_kernel(const struct column_terms op) {
  const int lane = (int)threadIdx.x % 32;
  for (int h = (int)threadIdx.x / 32; h < op.heads; h += BLOCK / 32) {
    float2 most = make_float2(-FLT_MAX, -FLT_MAX);
    for (int s = (int)blockIdx.x; s < op.segments; s += (int)gridDim.x) {
#pragma unroll
      for (int j = 0; j < 2; j++) {
        const int col = s * TILE_COLS + 2 * lane + j;
        if (col >= op.cols) continue;
        const float2 x = logs_of(column_numbers_of<FORWARD>(op, col, h));
        most = make_float2(fmaxf(most.x, x.x), fmaxf(most.y, x.y));
      }
    }
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
      most.x = fmaxf(most.x, __shfl_xor_sync(~0u, most.x, o));
      most.y = fmaxf(most.y, __shfl_xor_sync(~0u, most.y, o));
    }
    if (lane == 0) {
      atomicMax(op.highest + 2 * h, ordered(most.x));
      atomicMax(op.highest + 2 * h + 1, ordered(most.y));
    }
  }
}

/* The words of columns 2 pair and 2 pair + 1 of a segment. */
template <bool FORWARD>
static __device__ __forceinline__ void lay_out_pair(const struct column_numbers (&x)[2], float2 highest,
                                                    int pair, int head, uint32_t *to) {
  typedef tile_terms<FORWARD> T;
  const int place = pair / 8 * 4 + pair % 4, other = pair / 4 % 2; /* of a step's quarter; which pair */
  const float2 a = logs_of(x[0]), b = logs_of(x[1]);
  *(uint2 *)(to + 4 * place + 2 * other) = make_uint2(
      rounded_pair(exp2_of(scaled(a.x - highest.x)), exp2_of(scaled(b.x - highest.x))),
      rounded_pair(exp2_of(scaled(a.y - highest.y)), exp2_of(scaled(b.y - highest.y))));
  to[T::NEGATIVES + 2 * place + other] = pair_of_halves(-x[0].term, -x[1].term);
  if constexpr (!FORWARD) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const uint32_t high = rounded_pair(x[j].delta, 0);
      const uint32_t both = rounded_pair(low_half(high), x[j].delta - low_half(high));
      const int slot = head % SLOTS;
      *(uint4 *)(to + T::DELTAS + (2 * pair + j) * SLOTS) = make_uint4(
          slot == 0 ? both : 0, slot == 1 ? both : 0, slot == 2 ? both : 0, slot == 3 ? both : 0);
    }
  }
}

/* Likewise a segment's terms. Columns that are not there have no arcs; their deltas are 0. */
template <bool FORWARD>
static __global__ void __launch_bounds__(BLOCK) column_terms_kernel(const struct column_terms op) {
  const int lane = (int)threadIdx.x % 32, first = (int)blockIdx.x * TILE_COLS + 2 * lane;
  for (int h = (int)threadIdx.x / 32; h < op.heads; h += BLOCK / 32) {
    const float2 highest = make_float2(of_ordered(op.highest[2 * h]), of_ordered(op.highest[2 * h + 1]));
    struct column_numbers x[2] = {};
#pragma unroll
    for (int j = 0; j < 2; j++)
      if (first + j < op.cols) x[j] = column_numbers_of<FORWARD>(op, first + j, h);
    lay_out_pair<FORWARD>(x, highest, lane, h,
                          op.terms + ((int64_t)blockIdx.x * op.heads + h) * tile_terms<FORWARD>::WORDS);
  }
}

#endif
