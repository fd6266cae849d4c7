/* The sums of spmm. LANES threads read one row of X, WIDE columns each (one 16-byte load where WIDE is 4);
 * SHARE such groups of a warp take turns on the entries of one slot, the warp's other groups work on other
 * slots; blockIdx.y is the panel of LANES WIDE columns. Each lane keeps AHEAD loads in flight. Column ids are
 * read one a lane, a step ahead, and passed round by shuffles. */
#ifndef KERNELS_CUDA_SPMM_SUM_CUH
#define KERNELS_CUDA_SPMM_SUM_CUH

#include "kernels/cuda/finish_row.cuh"
#include "kernels/cuda/layout.h"

struct sums {
  const struct slot *slot;
  int64_t slots;
  int32_t block_slots; /* of a block */
  const int32_t *col;
  const float *value, *col_scale; /* NULL: 1 */
  const float *x;
  uint32_t x_bytes; /* from row to row */
  int64_t width;
  float *partial; /* [pieces, partial_stride] */
  int64_t partial_stride;
};

static __device__ __forceinline__ struct slot read_slot(const struct slot *at) {
  const int4 v = __ldg((const int4 *)at);
  struct slot slot;
  slot.first = (int64_t)(((uint64_t)(uint32_t)v.y << 32) | (uint32_t)v.x);
  slot.count = v.z;
  slot.target = v.w;
  return slot;
}

template <int WIDE> static __device__ __forceinline__ void read_x(const char *from, float (&to)[WIDE]) {
  if constexpr (WIDE == 4) {
    const float4 v = __ldg((const float4 *)from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    to[0] = __ldg((const float *)from);
  }
}

/* sum = the entries of one slot for the columns of this lane; by the whole warp together. */
template <int WIDE, int LANES, int SHARE, int AHEAD, bool FACTORS>
static __device__ __forceinline__ void sum_slot(const struct sums &op, const struct slot &slot, const char *x,
                                                float (&sum)[WIDE]) {
  constexpr int CHUNK = LANES < AHEAD ? AHEAD : LANES, IDS = CHUNK / LANES; /* ids of a group, of a lane */
  constexpr unsigned ALL = ~0u;
  const int lane = threadIdx.x % 32, part = lane / LANES % SHARE;
  const int64_t entry = slot.first + part * CHUNK + lane % LANES;
  const int left = slot.count - part * CHUNK - lane % LANES;
  const int32_t *col = op.col + entry;
  int longest = slot.count;
#pragma unroll
  for (int o = LANES * SHARE; o < 32; o *= 2) longest = max(longest, __shfl_xor_sync(ALL, longest, o));
  int id[IDS];
#pragma unroll
  for (int i = 0; i < IDS; i++) id[i] = i * LANES < left ? __ldg(col + i * LANES) : -1;
  for (int at = 0; at < longest; at += SHARE * CHUNK) {
    int next[IDS];
    float factor[IDS];
#pragma unroll
    for (int i = 0; i < IDS; i++) {
      const int ahead = at + SHARE * CHUNK + i * LANES;
      next[i] = ahead < left ? __ldg(col + ahead) : -1;
      if (FACTORS) {
        factor[i] = op.value && id[i] >= 0 ? __ldg(op.value + entry + at + i * LANES) : 1;
        if (op.col_scale && id[i] >= 0) factor[i] *= __ldg(op.col_scale + id[i]);
      }
    }
#pragma unroll
    for (int b = 0; b < CHUNK; b += AHEAD) {
      if (b > 0 && at + b >= longest) break; /* the same for the whole warp */
      float v[AHEAD][WIDE];
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const int c = __shfl_sync(ALL, id[(b + u) / LANES], (b + u) % LANES, LANES);
#pragma unroll
        for (int i = 0; i < WIDE; i++) v[u][i] = 0;
        if (c >= 0) read_x(x + (uint64_t)(uint32_t)c * op.x_bytes, v[u]);
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const float w = FACTORS ? __shfl_sync(ALL, factor[(b + u) / LANES], (b + u) % LANES, LANES) : 1;
#pragma unroll
        for (int i = 0; i < WIDE; i++) sum[i] = FACTORS ? fmaf(w, v[u][i], sum[i]) : sum[i] + v[u][i];
      }
    }
#pragma unroll
    for (int i = 0; i < IDS; i++) id[i] = next[i];
  }
#pragma unroll
  for (int o = LANES; o < LANES * SHARE; o *= 2) {
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += __shfl_xor_sync(ALL, sum[i], o);
  }
}

/* A warp strides through the slots of its block, the next one read before the current one is summed. */
template <int WIDE, int LANES, int SHARE, int AHEAD, bool FACTORS>
static __global__ void __launch_bounds__(BLOCK, 4)
    spmm_kernel(const __grid_constant__ struct sums op, const __grid_constant__ struct finish finish) {
  constexpr int SLOTS = 32 / LANES / SHARE; /* of a warp */
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t begin = (int64_t)blockIdx.x * op.block_slots, end = min(begin + op.block_slots, op.slots);
  const int64_t panel = (int64_t)blockIdx.y * LANES * WIDE, col = panel + lane % LANES * WIDE;
  const char *x = (const char *)(op.x +
                                 (col < op.width ? col : panel)); /* idle lanes read what others read */
  int64_t at = begin + warp * SLOTS;
  const int mine = lane / LANES / SHARE;
  const struct slot none = {0, 0, 0};
  struct slot slot = at + mine < end ? read_slot(op.slot + at + mine) : none;
  for (; at < end; at += BLOCK / 32 * SLOTS) {
    const int64_t ahead = at + BLOCK / 32 * SLOTS + mine;
    const struct slot next = ahead < end ? read_slot(op.slot + ahead) : none;
    float sum[WIDE] = {0};
    sum_slot<WIDE, LANES, SHARE, AHEAD, FACTORS>(op, slot, x, sum);
    if (at + mine < end && col < op.width && lane / LANES % SHARE == 0) {
      if (slot.target >= 0)
        finish_row(finish, slot.target, col, sum);
      else
        store(op.partial + (int64_t)~slot.target * op.partial_stride + col, WIDE, true, sum);
    }
    slot = next;
  }
}

#endif
