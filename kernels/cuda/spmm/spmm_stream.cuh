/* The sums of spmm for short rows. There a slot, then its ids, then the rows of X come one after the other,
 * and each takes longer than the sum. So a group of threads has all three under way at once: while it adds a
 * batch of entries, the rows of the next batch come into shared memory, the ids of one more and the slot
 * behind that into registers. Groups go from slot to slot, as many apart as there are groups, each at its own
 * pace. Long slots, those that stand before all others, are each cut among the groups of a warp, whose sums
 * are added as a tree. Rows that very many slots name come through the first-level cache, which is faster for
 * them and slower for all others.
 *
 * The kernel may begin while the one before still writes X (follow.cuh): it reads slots and first ids, then
 * waits. */
#ifndef KERNELS_CUDA_SPMM_SPMM_STREAM_CUH
#define KERNELS_CUDA_SPMM_SPMM_STREAM_CUH

#include <limits.h>

#include "kernels/cuda/spmm/spmm_variant.h"

template <class T_, int LANES_> struct stream_shape : shape<T_, 1, LANES_, 4, 128, 10> {
  static constexpr int RING = 2; /* batches there is room for: one is added, the others come in */
};

/* A batch of entries of a slot. */
struct batch {
  int id;   /* this lane's */
  int left; /* entries of the slot from its first on */
  int end;  /* where the sum goes: the slot's target; or one of the following */
};
enum { NOT_YET = INT_MIN, NO_BATCH = INT_MIN + 1 };

/* What a group will sum. A slot of fewer than no entries is none. */
struct course {
  struct slot slot, after;
  int at;              /* entry of `slot` */
  uint32_t next, step; /* the slot behind `after` */
};

static __device__ __forceinline__ struct slot slot_or_none(const struct sums &op, uint32_t at) {
  struct slot slot = {0, -1, 0};
  if (at < op.slots) slot = read_slot(op.slot, at);
  return slot;
}

static __device__ __forceinline__ struct course course_of(const struct sums &op, uint32_t first,
                                                          uint32_t step) {
  struct course c;
  c.slot = slot_or_none(op, first);
  c.after = slot_or_none(op, first + step);
  c.at = 0;
  c.next = first + 2 * step;
  c.step = step;
  return c;
}

template <class S>
static __device__ __forceinline__ struct batch next_batch(const struct sums &op, int lane, struct course &c) {
  struct batch b;
  b.left = c.slot.count - c.at;
  b.id = lane < min(b.left, S::AHEAD) ? __ldg(op.col + c.slot.first + c.at + lane) : 0;
  b.end = c.slot.count < 0 ? NO_BATCH : b.left > S::AHEAD ? NOT_YET : c.slot.target;
  c.at += S::AHEAD;
  if (c.at >= c.slot.count) {
    c.slot = c.after;
    c.at = 0;
    c.after = slot_or_none(op, c.next);
    c.next = min(c.next + c.step, (uint32_t)INT_MAX);
  }
  return b;
}

/* Zeros where the row is not there. near: by way of the multiprocessor's own cache. */
static __device__ __forceinline__ void copy_later(uint4 *to, const char *from, bool there, bool near) {
  const uint32_t place = (uint32_t)__cvta_generic_to_shared(to);
  const int bytes = there ? 16 : 0;
  if (near)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* For all but the last LATER batches. */
template <int LATER> static __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

template <class S, bool CROWDED>
static __device__ __forceinline__ void fetch_rows(const struct sums &op, const struct batch &b, int first,
                                                  const char *x, uint4 (&rows)[S::AHEAD][S::THREADS]) {
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const int id = __shfl_sync(~0u, b.id, first + u);
    copy_later(&rows[u][threadIdx.x], x + (uint64_t)(uint32_t)id * op.x_bytes, u < b.left,
               CROWDED && op.crowded >> (id & 31) & 1);
  }
}

template <class S>
static __device__ __forceinline__ void fetch_batch(const struct sums &op, const struct batch &b, int first,
                                                   const char *x, uint4 (&rows)[S::AHEAD][S::THREADS]) {
  if (op.crowded)
    fetch_rows<S, true>(op, b, first, x, rows);
  else
    fetch_rows<S, false>(op, b, first, x, rows);
  end_copies();
}

/* The factor of this lane's entry, which is number `entry` of the matrix. */
static __device__ __forceinline__ float factor_of(const struct sums &op, int64_t entry, int id, bool there) {
  float factor = 1;
  if (!there) return 0;
  if (op.value) factor = __ldg(op.value + (op.value_id ? __ldg(op.value_id + entry) : entry));
  if (op.col_scale) factor *= __ldg(op.col_scale + id);
  return factor;
}

template <class S, bool FACTORS>
static __device__ __forceinline__ void add_batch(const uint4 (&rows)[S::AHEAD][S::THREADS], float factor,
                                                 int first, float (&sum)[1][S::WIDE]) {
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const float w = FACTORS ? __shfl_sync(~0u, factor, first + u) : 1;
    const uint4 v = rows[u][threadIdx.x];
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      const float value = column_of<typename S::T>(word, i);
      sum[0][i] = FACTORS ? fmaf(w, value, sum[0][i]) : sum[0][i] + value;
    }
  }
}

/* A warp's slot, each group a part of it. */
template <class S, bool FACTORS, enum row_end END>
static __device__ __forceinline__ void sum_long_slot(const struct sums &op, const struct finish &finish,
                                                     const struct place &me, const char *(&x)[1],
                                                     int vector) {
  const uint32_t at = blockIdx.x * (S::THREADS / 32) + threadIdx.x / 32;
  if (at >= op.early) return;
  const struct slot slot = read_slot(op.slot, at);
  const int each = (slot.count + S::GROUPS - 1) / S::GROUPS, before = each * (me.first / S::LANES);
  const struct slot part = {slot.first + before, max(0, min(each, slot.count - before)), slot.target};
  float sum[1][S::WIDE] = {};
  sum_slot<S, FACTORS>(op, part, me, x, sum);
#pragma unroll
  for (int o = S::LANES; o < 32; o *= 2) {
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) sum[0][i] += __shfl_xor_sync(~0u, sum[0][i], o);
  }
  if (me.first == 0) write_slot<S, END>(op, finish, slot, vector, sum);
}

/* The course of a group from its first batch b on; by whole warps. */
template <class S, bool FACTORS, enum row_end END>
static __device__ __forceinline__ void sum_course(const struct sums &op, const struct finish &finish,
                                                  const struct place &me, const char *x, int vector,
                                                  int64_t entry, struct batch b, struct course &c,
                                                  uint4 (&ring)[S::RING][S::AHEAD][S::THREADS]) {
  int end[S::RING];
  float factor[S::RING], sum[1][S::WIDE] = {};
#pragma unroll
  for (int r = 0; r < S::RING; r++) end[r] = NO_BATCH, factor[r] = 0;
  for (bool more = true; __any_sync(~0u, more);) {
#pragma unroll
    for (int r = 0; r < S::RING; r++) {
      const int oldest = (r + 1) % S::RING;
      fetch_batch<S>(op, b, me.first, x, ring[r]);
      end[r] = b.end;
      if (FACTORS) factor[r] = factor_of(op, entry + me.lane, b.id, me.lane < min(b.left, S::AHEAD));
      if (FACTORS) entry = c.slot.first + c.at;
      b = next_batch<S>(op, me.lane, c);
      wait_for_copies<S::RING - 1>();
      add_batch<S, FACTORS>(ring[oldest], factor[oldest], me.first, sum);
      if (end[oldest] > NO_BATCH) write_slot<S, END>(op, finish, slot{0, 0, end[oldest]}, vector, sum);
#pragma unroll
      for (int i = 0; i < S::WIDE; i++) sum[0][i] = end[oldest] == NOT_YET ? sum[0][i] : 0;
      end[oldest] = NO_BATCH;
    }
    more = b.end != NO_BATCH;
#pragma unroll
    for (int r = 0; r < S::RING; r++) more |= end[r] != NO_BATCH;
  }
}

template <class S, bool FACTORS, enum row_end END>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    spmm_stream_kernel(const __grid_constant__ struct sums op, const __grid_constant__ struct finish finish) {
  static_assert(32 % S::LANES == 0 && S::LANES >= S::AHEAD, "groups fill a warp and hold a batch's ids");
  __shared__ uint4 ring[S::RING][S::AHEAD][S::THREADS];
  const int lane = (int)threadIdx.x % S::LANES;
  const struct place me = {(int)threadIdx.x % 32 - lane, lane, false};
  const int first = op.first + (int)blockIdx.y * S::PANEL, vector = first + lane;
  const char *x[1] = {op.x + (vector < op.vectors ? vector : first) * 16}; /* idle lanes: the first one's */
  let_next_begin();
  if (blockIdx.x < op.early_blocks) {
    wait_for_last(x[0]);
    return sum_long_slot<S, FACTORS, END>(op, finish, me, x, vector);
  }
  const uint32_t block = blockIdx.x - op.early_blocks;
  struct course c = course_of(op, op.early + block * S::SLOTS + threadIdx.x / S::LANES,
                              (gridDim.x - op.early_blocks) * S::SLOTS);
  const int64_t entry = c.slot.first;
  const struct batch b = next_batch<S>(op, lane, c);
  wait_for_last(x[0]);
  sum_course<S, FACTORS, END>(op, finish, me, x[0], vector, entry, b, c, ring);
}

template <class S> static struct variant stream_variant_of(const struct task &task) {
  static constexpr void (*kernel[2][2])(const struct sums, const struct finish) = {
      {spmm_stream_kernel<S, false, END_PLAIN>, spmm_stream_kernel<S, true, END_PLAIN>},
      {spmm_stream_kernel<S, false, END_SUM>, spmm_stream_kernel<S, true, END_SUM>}};
  return {kernel[task.end == END_SUM][task.factors], S::PANEL, S::THREADS, S::SLOTS, S::BLOCKS};
}

template <class T> static struct variant choose_stream(const struct task &task) {
  if (task.vectors <= 4) return stream_variant_of<stream_shape<T, 4>>(task);
  if (task.vectors <= 8) return stream_variant_of<stream_shape<T, 8>>(task);
  return stream_variant_of<stream_shape<T, 16>>(task);
}

#endif
