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

/* One load and its additions, for the place `u` of a batch if `left` reaches beyond it: predicates, not
 * branches, keep the loads of a batch together and cost no zeros. What was not read is not added. */
template <int OFFSET>
static __device__ __forceinline__ void read_x(const char *from, int left, int u, float (&to)[4]) {
  asm("{\n.reg .pred p;\nsetp.gt.s32 p, %5, %6;\n@p ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4+%7];\n}"
      : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
      : "l"(from), "r"(left), "r"(u), "n"(OFFSET));
}

template <int OFFSET>
static __device__ __forceinline__ void read_x(const char *from, int left, int u, float (&to)[2]) {
  asm("{\n.reg .pred p;\nsetp.gt.s32 p, %3, %4;\n@p ld.global.nc.v2.f32 {%0, %1}, [%2+%5];\n}"
      : "=f"(to[0]), "=f"(to[1])
      : "l"(from), "r"(left), "r"(u), "n"(OFFSET));
}

template <int OFFSET>
static __device__ __forceinline__ void read_x(const char *from, int left, int u, float (&to)[1]) {
  asm("{\n.reg .pred p;\nsetp.gt.s32 p, %2, %3;\n@p ld.global.nc.f32 %0, [%1+%4];\n}"
      : "=f"(to[0])
      : "l"(from), "r"(left), "r"(u), "n"(OFFSET));
}

/* The vectors J, J + 1, ... of a lane. */
template <class SHAPE, int J = 0>
static __device__ __forceinline__ void read_vectors(const char *row, const int (&left)[SHAPE::VECS], int u,
                                                    float (&to)[SHAPE::VECS][SHAPE::WIDE]) {
  read_x<J * SHAPE::PITCH *(int)sizeof(float)>(row, left[J], u, to[J]);
  if constexpr (J + 1 < SHAPE::VECS) read_vectors<SHAPE, J + 1>(row, left, u, to);
}

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
};

/* Adds up to AHEAD entries, whose ids and factors the group's lanes hold from place b on (0 where a lane
 * holds several); left[j]: how many there are from b on for vector j, 0 for one behind the matrix's width. */
template <class SHAPE, bool FACTORS>
static __device__ __forceinline__ void
add_entries(const char *x, uint32_t x_bytes, const int (&left)[SHAPE::VECS], const int (&id)[SHAPE::IDS],
            const float (&factor)[SHAPE::IDS], int b, float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  float v[SHAPE::AHEAD][SHAPE::VECS][SHAPE::WIDE];
#pragma unroll
  for (int u = 0; u < SHAPE::AHEAD; u++) {
    const int c = __shfl_sync(~0u, id[u / SHAPE::LANES], b + u % SHAPE::LANES, SHAPE::LANES);
    read_vectors<SHAPE>(x + (uint64_t)(uint32_t)c * x_bytes, left, u, v[u]);
  }
#pragma unroll
  for (int u = 0; u < SHAPE::AHEAD; u++) {
    const float w = FACTORS ? __shfl_sync(~0u, factor[(b + u) / SHAPE::LANES], (b + u) % SHAPE::LANES,
                                          SHAPE::LANES)
                            : 1;
#pragma unroll
    for (int j = 0; j < SHAPE::VECS; j++) add_x<FACTORS>(v[u][j], w, left[j], u, sum[j]);
  }
}

/* sum = the entries of one slot for the columns of this lane; by the whole warp together. */
template <class SHAPE, bool FACTORS>
static __device__ __forceinline__ void sum_slot(const struct sums &op, const struct slot &slot, int col,
                                                const char *x, float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  constexpr int LANES = SHAPE::LANES, IDS = SHAPE::IDS;
  const int lane = threadIdx.x % LANES;
  const int32_t *ids = op.col + slot.first + lane;
  int longest = slot.count, id[IDS];
#pragma unroll
  for (int o = LANES; o < 32; o *= 2) longest = max(longest, __shfl_xor_sync(~0u, longest, o));
#pragma unroll
  for (int i = 0; i < IDS; i++) id[i] = lane + i * LANES < slot.count ? __ldg(ids + i * LANES) : 0;
  for (int at = 0; at < longest; at += SHAPE::CHUNK) {
    int next[IDS];
    float factor[IDS];
#pragma unroll
    for (int i = 0; i < IDS; i++) {
      const int here = at + i * LANES, ahead = here + SHAPE::CHUNK;
      next[i] = lane + ahead < slot.count ? __ldg(ids + ahead) : 0;
      if (FACTORS) {
        const bool there = lane + here < slot.count;
        factor[i] = op.value && there ? __ldg(op.value + (ids - op.col) + here) : 1;
        if (op.col_scale && there) factor[i] *= __ldg(op.col_scale + id[i]);
      }
    }
#pragma unroll 1 /* batches must not be drawn together: their loads would not fit the registers */
    for (int b = 0; b < SHAPE::CHUNK && at + b < longest; b += SHAPE::AHEAD) { /* alike for the whole warp */
      int left[SHAPE::VECS];
#pragma unroll
      for (int j = 0; j < SHAPE::VECS; j++)
        left[j] = col + j * SHAPE::PITCH < op.width ? slot.count - at - b : 0;
      add_entries<SHAPE, FACTORS>(x, op.x_bytes, left, id, factor, b, sum);
    }
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
  const char *x = (const char *)(op.x + col);
  struct slot slot = {0, 0, 0};
  if (at < op.slots) slot = read_slot(op.slot + at);
  float sum[SHAPE::VECS][SHAPE::WIDE] = {};
  sum_slot<SHAPE, FACTORS>(op, slot, col, x, sum);
  if (at < op.slots) write_slot<SHAPE, UPDATES>(op, finish, slot, col, sum);
}

#endif
