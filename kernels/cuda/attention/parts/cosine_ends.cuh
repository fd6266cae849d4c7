/* What attention by cosines reads of the two ends of an arc where tensor cores sum it, in tiles or in column
 * vectors; and rows that are summed again arc by arc, each by a warp: those with a sum that is not finite,
 * since 0 times what is not finite reaches rows without such an arc too. */
#ifndef KERNELS_CUDA_ATTENTION_PARTS_COSINE_ENDS_CUH
#define KERNELS_CUDA_ATTENTION_PARTS_COSINE_ENDS_CUH

#include "kernels/cuda/attention/parts/cosine_windows.h"
#include "kernels/cuda/attention/parts/partial_columns.cuh"
#include "kernels/cuda/common/score.cuh"
#include "kernels/cuda/spmm/spmm_epilogue.cuh"

struct cosine_ends {
  struct rows message, mine;   /* of columns, of the rows themselves */
  uint32_t inverse, dz, reals; /* bytes from a message's begin */
  int32_t width;
  const float *beta;
};

static inline struct cosine_ends cosine_ends_of(struct kernels *k, const struct cosine_windows *op) {
  const struct cosine_message parts = cosine_parts(k, op->message, op->width);
  const char *begin = (const char *)op->message.data;
  struct cosine_ends ends = {};
  ends.message = rows_of(op->message);
  ends.mine = rows_of(op->rows);
  ends.inverse = (uint32_t)((const char *)parts.inverse.data - begin);
  ends.dz = (uint32_t)((const char *)parts.dz.data - begin);
  ends.reals = (uint32_t)((const char *)parts.log_sum.data - begin);
  ends.width = (int32_t)op->width;
  ends.beta = (const float *)op->beta;
  return ends;
}

/* Errors: FAILED where tensor cores cannot take them. */
static inline int check_cosine_windows(const struct cosine_windows *op) {
  if (op->message.dtype == BF16 && op->rows.dtype == BF16 && op->width <= COSINE_TILES_WIDTH &&
      cuda_is_aligned(op->message) && cuda_is_aligned(op->rows))
    return OK;
  FAIL(FAILED, "attention by cosines sums windows of bf16 alone, up to %d columns at multiples of 16 bytes",
       COSINE_TILES_WIDTH);
}

/* Up to that |beta| no weight vanishes beside exp(|beta|), nor does its product with x: exp(-2 |beta|) is
 * 10^-26. Beyond it, rows are summed arc by arc. */
static constexpr float MOST_BETA = 30;

/* A real of the message; 0 where there is none. */
static __device__ __forceinline__ float real_of(const char *message, uint32_t at) {
  return message ? __ldg((const float *)(message + at)) : 0;
}

/* The sum over the four threads of a quad. */
static __device__ __forceinline__ float sum_of_quad(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

static __device__ __forceinline__ void write_numbers(const struct cosine_ends &op, float *row, float max,
                                                     float total) {
  float *to = row + 2 * partial_columns(op.width);
  to[0] = max;
  to[1] = total;
}

/* A lane's columns of a row: lane and lane + 32. */
struct lane_columns {
  float at[2];
};

static __device__ __forceinline__ struct lane_columns columns_of_lane(const char *from, int32_t width) {
  struct lane_columns x;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int col = (int)threadIdx.x % 32 + 32 * i;
    x.at[i] = from && col < width ? (float)((const bf16 *)from)[col] : 0;
  }
  return x;
}

/* The same in each lane. */
static __device__ __forceinline__ float product_of(const struct lane_columns &x,
                                                   const struct lane_columns &y) {
  float sum = fmaf(x.at[1], y.at[1], x.at[0] * y.at[0]);
#pragma unroll
  for (int o = 1; o < 32; o *= 2) sum += __shfl_xor_sync(~0u, sum, o);
  return sum;
}

static __device__ __forceinline__ void add_times(float factor, const struct lane_columns &x,
                                                 struct lane_columns &sum) {
#pragma unroll
  for (int i = 0; i < 2; i++) sum.at[i] = fmaf(factor, x.at[i], sum.at[i]);
}

static __device__ __forceinline__ float cosine_weight(float beta, float c, float log_sum) {
  return exp2_of(fmaf(__fmul_rn(beta, c), LOG2_E, -scaled(log_sum)));
}

/* Forward: *row becomes the sums of the row whose message is `mine` (NULL: none), with a running maximum.
 * each_arc(add) calls add(column) for each of its arcs. */
template <class ARCS>
static __device__ __forceinline__ void forward_again(const struct cosine_ends &op, const char *mine,
                                                     float *row, const ARCS &each_arc) {
  const int lane = (int)threadIdx.x % 32;
  const float scale = __ldg(op.beta) * real_of(mine, op.inverse);
  const struct lane_columns x = columns_of_lane(mine, op.width);
  struct lane_columns y = {};
  float max = LOWEST, total = 0;
  each_arc([&](int32_t column) {
    const char *other = at<char>(op.message, column, 0);
    const struct lane_columns other_x = columns_of_lane(other, op.width);
    const float score = product_of(x, other_x) * scale * real_of(other, op.inverse);
    const float top = score > max ? score : max, old = exp2_of(scaled(max) - scaled(top));
    const float weight = exp2_of(fmaf(score, LOG2_E, -scaled(top)));
    max = top;
    total = total * old + weight;
#pragma unroll
    for (int i = 0; i < 2; i++) y.at[i] = y.at[i] * old + weight * other_x.at[i];
  });
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (lane + 32 * i < partial_columns(op.width)) row[lane + 32 * i] = y.at[i];
  if (lane == 0) write_numbers(op, row, max, total);
}

/* Backward; likewise. */
template <bool IN, bool OUT, class ARCS>
static __device__ __forceinline__ void backward_again(const struct cosine_ends &op, const char *mine,
                                                      float *row, const ARCS &each_arc) {
  const int lane = (int)threadIdx.x % 32, columns = (int)partial_columns(op.width);
  const struct lane_columns x = columns_of_lane(mine, op.width),
                            dz = columns_of_lane(IN && mine ? mine + op.dz : NULL, op.width);
  const float beta = __ldg(op.beta), inverse = real_of(mine, op.inverse);
  const float log_sum = real_of(mine, op.reals), delta = real_of(mine, op.reals + sizeof(float));
  struct lane_columns dx = {}, dn = {};
  float beta_grad = 0;
  each_arc([&](int32_t column) {
    const char *other = at<char>(op.message, column, 0);
    const struct lane_columns other_x = columns_of_lane(other, op.width);
    const float c = product_of(x, other_x) * inverse * real_of(other, op.inverse);
    float coefficient = 0;
    if (IN) {
      coefficient = cosine_weight(beta, c, log_sum) * (product_of(dz, other_x) - delta);
      beta_grad += coefficient * c;
    }
    if (OUT) {
      const struct lane_columns other_dz = columns_of_lane(other + op.dz, op.width);
      const float weight = cosine_weight(beta, c, real_of(other, op.reals));
      coefficient += weight * (product_of(x, other_dz) - real_of(other, op.reals + sizeof(float)));
      add_times(weight, other_dz, dx);
    }
    add_times(coefficient * beta * real_of(other, op.inverse), other_x, dn);
  });
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (lane + 32 * i >= columns) continue;
    const bool there = lane + 32 * i < op.width;
    row[lane + 32 * i] = there ? dx.at[i] : 0;
    row[columns + lane + 32 * i] = there ? dn.at[i] : 0;
  }
  if (lane == 0) row[2 * columns] = beta_grad;
}

#endif
