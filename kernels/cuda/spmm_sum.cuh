/* The sums of spmm. LANES threads share a slot and read VECS vectors each of every row of X that it names, a
 * vector being WIDE columns and one load; the warp's other groups work on other slots; blockIdx.y is the
 * panel of LANES VECS WIDE columns. A lane keeps AHEAD VECS loads in flight. Column ids are read one a lane,
 * a step ahead, and passed round by shuffles. */
#ifndef KERNELS_CUDA_SPMM_SUM_CUH
#define KERNELS_CUDA_SPMM_SUM_CUH

#include "kernels/cuda/finish_row.cuh"
#include "kernels/cuda/layout.h"

struct sums {
  const struct slot *slot;
  int64_t slots;
  const int32_t *col;
  const float *value, *col_scale; /* NULL: 1 */
  const float *x;
  uint32_t x_bytes; /* from row to row */
  int32_t width;
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
  } else if constexpr (WIDE == 2) {
    const float2 v = __ldg((const float2 *)from);
    to[0] = v.x, to[1] = v.y;
  } else {
    to[0] = __ldg((const float *)from);
  }
}

/* Place u of a batch counts if `left` reaches beyond it. */
template <bool FACTORS, int WIDE>
static __device__ __forceinline__ void add_x(const float (&v)[WIDE], float factor, int left, int u,
                                             float (&sum)[WIDE]) {
  const bool there = left > u;
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    const float more = FACTORS ? fmaf(factor, v[i], sum[i]) : sum[i] + v[i];
    sum[i] = there ? more : sum[i];
  }
}

/* Shape of a kernel. */
template <int WIDE_, int VECS_, int LANES_, int AHEAD_, int THREADS_, int BLOCKS_> struct shape {
  static constexpr int WIDE = WIDE_, VECS = VECS_, LANES = LANES_, AHEAD = AHEAD_, THREADS = THREADS_;
  static constexpr int BLOCKS = BLOCKS_;                      /* on a multiprocessor */
  static constexpr int SLOTS = THREADS / LANES;               /* of a block */
  static constexpr int CHUNK = LANES < AHEAD ? AHEAD : LANES; /* ids that a group holds */
  static constexpr int IDS = CHUNK / LANES;                   /* ids that a lane holds */
  static constexpr int PITCH = LANES * WIDE;                  /* columns from vector to vector of a lane */
  static constexpr int COLUMNS = PITCH * VECS;                /* of a panel */
  static_assert(CHUNK % AHEAD == 0, "a batch lies within the ids that a group holds");
};

/* Adds up to AHEAD entries of which `left` remain; their ids and factors are with the group's lanes from
 * place b on (0 where a lane holds several). Loads need no test: behind a slot's end they repeat its last
 * entry, which is not added. */
template <class SHAPE, bool FACTORS>
static __device__ __forceinline__ void
add_entries(const char *const (&x)[SHAPE::VECS], uint32_t x_bytes, int left, const int (&id)[SHAPE::IDS],
            const float (&factor)[SHAPE::IDS], int b, float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  float v[SHAPE::AHEAD][SHAPE::VECS][SHAPE::WIDE];
#pragma unroll
  for (int u = 0; u < SHAPE::AHEAD; u++) {
    const int c = __shfl_sync(~0u, id[u / SHAPE::LANES], b + u % SHAPE::LANES, SHAPE::LANES);
#pragma unroll
    for (int j = 0; j < SHAPE::VECS; j++) read_x(x[j] + (uint64_t)(uint32_t)c * x_bytes, v[u][j]);
  }
#pragma unroll
  for (int u = 0; u < SHAPE::AHEAD; u++) {
    const float w = FACTORS ? __shfl_sync(~0u, factor[u / SHAPE::LANES], b + u % SHAPE::LANES, SHAPE::LANES)
                            : 1;
#pragma unroll
    for (int j = 0; j < SHAPE::VECS; j++) add_x<FACTORS>(v[u][j], w, left, u, sum[j]);
  }
}

/* sum = the entries of one slot for the columns of this lane; by the whole warp together. */
template <class SHAPE, bool FACTORS>
static __device__ __forceinline__ void sum_slot(const struct sums &op, const struct slot &slot,
                                                const char *const (&x)[SHAPE::VECS],
                                                float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  constexpr int LANES = SHAPE::LANES, IDS = SHAPE::IDS;
  const int lane = threadIdx.x % LANES, last = slot.count - 1;
  const int32_t *ids = op.col + slot.first;
  int longest = slot.count, id[IDS];
#pragma unroll
  for (int o = LANES; o < 32; o *= 2) longest = max(longest, __shfl_xor_sync(~0u, longest, o));
#pragma unroll
  for (int i = 0; i < IDS; i++) id[i] = last >= 0 ? __ldg(ids + min(lane + i * LANES, last)) : 0;
  for (int at = 0; at < longest; at += SHAPE::CHUNK) {
    int next[IDS];
    float factor[IDS];
#pragma unroll
    for (int i = 0; i < IDS; i++) {
      const int here = min(lane + at + i * LANES, last),
                ahead = min(lane + at + SHAPE::CHUNK + i * LANES, last);
      next[i] = last >= 0 ? __ldg(ids + ahead) : 0;
      if (FACTORS) {
        factor[i] = op.value && last >= 0 ? __ldg(op.value + slot.first + here) : 1;
        if (op.col_scale && last >= 0) factor[i] *= __ldg(op.col_scale + id[i]);
      }
    }
#pragma unroll 1 /* batches must not be drawn together: their loads would not fit the registers */
    for (int b = 0; b < SHAPE::CHUNK && at + b < longest; b += SHAPE::AHEAD) /* alike for the whole warp */
      add_entries<SHAPE, FACTORS>(x, op.x_bytes, slot.count - at - b, id, factor, b, sum);
#pragma unroll
    for (int i = 0; i < IDS; i++) id[i] = next[i];
  }
}

template <class SHAPE, bool UPDATES>
static __device__ __forceinline__ void write_slot(const struct sums &op, const struct finish &finish,
                                                  const struct slot &slot, int col,
                                                  float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
#pragma unroll
  for (int j = 0; j < SHAPE::VECS; j++, col += SHAPE::PITCH) {
    if (col >= op.width) break;
    if (slot.target >= 0)
      finish_row<UPDATES>(finish, slot.target, col, sum[j]);
    else
      store(op.partial + (int64_t)~slot.target * op.partial_stride + col, SHAPE::WIDE, true, sum[j]);
  }
}

/* One slot a group: the scheduler of blocks balances the work. */
template <class SHAPE, bool FACTORS, bool UPDATES>
static __global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    spmm_kernel(const struct sums op, const struct finish finish) {
  const int col = (int)blockIdx.y * SHAPE::COLUMNS + (int)threadIdx.x % SHAPE::LANES * SHAPE::WIDE;
  const int64_t at = (int64_t)blockIdx.x * SHAPE::SLOTS + threadIdx.x / SHAPE::LANES;
  const char *x[SHAPE::VECS]; /* idle lanes read what the first one reads */
#pragma unroll
  for (int j = 0; j < SHAPE::VECS; j++) {
    const int mine = col + j * SHAPE::PITCH;
    x[j] = (const char *)(op.x + (mine < op.width ? mine : (int)blockIdx.y * SHAPE::COLUMNS));
  }
  struct slot slot = {0, 0, 0};
  if (at < op.slots) slot = read_slot(op.slot + at);
  float sum[SHAPE::VECS][SHAPE::WIDE] = {};
  sum_slot<SHAPE, FACTORS>(op, slot, x, sum);
  if (at < op.slots) write_slot<SHAPE, UPDATES>(op, finish, slot, col, sum);
}

#endif
