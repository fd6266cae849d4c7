/* What both kernels of reduce.cu and reduce_backward.cu share: a group of LANES threads walks over a row
 * segment of the layout, each thread at its own 16 bytes of the rows that the row segment names, blockIdx.y
 * the panel of LANES such vectors. Ids of entries are read one a lane and passed round by shuffles. */
#ifndef KERNELS_CUDA_SPMM_REDUCE_CUH
#define KERNELS_CUDA_SPMM_REDUCE_CUH

#include "kernels/cuda/layout/layout.h"
#include "kernels/cuda/spmm/spmm_ops.h"
#include "kernels/cuda/spmm/spmm_sum.cuh"

/* Rows of winners. */
struct winner_rows {
  int32_t *id; /* NULL: absent */
  int64_t stride;
  bool whole; /* at multiples of 16 bytes, with room for whole vectors */
};

static inline struct winner_rows winner_rows_of(struct winners w, int64_t cols, int64_t wide) {
  return {w.id, w.stride,
          (uintptr_t)w.id % 16 == 0 && w.stride % 4 == 0 && w.stride >= (cols + wide - 1) / wide * wide};
}

static __device__ __forceinline__ int32_t *at(const struct winner_rows &w, int64_t row, int32_t col) {
  return w.id + row * w.stride + col;
}

/* Columns [0, n); NO_WINNER behind them, or what a whole row's gap holds. */
template <int WIDE>
static __device__ __forceinline__ void read_winners(const int32_t *from, int n, bool whole, int (&to)[WIDE]) {
  if (WIDE % 4 == 0 && whole) {
#pragma unroll
    for (int i = 0; i < WIDE; i += 4) {
      const int4 four = *(const int4 *)(from + i);
      to[i] = four.x, to[(i + 1) % WIDE] = four.y, to[(i + 2) % WIDE] = four.z, to[(i + 3) % WIDE] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < WIDE; i++) to[i] = i < n ? from[i] : NO_WINNER;
  }
}

template <int WIDE>
static __device__ __forceinline__ void write_winners(int32_t *to, int n, bool whole,
                                                     const int (&from)[WIDE]) {
  if (WIDE % 4 == 0 && whole && n == WIDE) {
#pragma unroll
    for (int i = 0; i < WIDE; i += 4)
      *(int4 *)(to + i) = make_int4(from[i], from[(i + 1) % WIDE], from[(i + 2) % WIDE],
                                    from[(i + 3) % WIDE]);
  } else {
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
      if (i < n) to[i] = from[i];
    }
  }
}

/* The row segments of a layout and how the rows of a matrix are read. */
struct gathered {
  struct packed_row_segments row_segment;
  int64_t count;
  const int32_t *col;
  struct rows x;
  int32_t width, vectors; /* columns, 16 bytes of them */
  bool whole;             /* rows of x hold whole vectors at multiples of 16 bytes */
  float *partial;         /* [pieces, stride]: what pieces of long rows leave */
  int32_t *partial_winner;
  int64_t stride;
};

static inline bool holds_vectors(struct tensor t, int64_t wide) {
  return !t.data || (cuda_is_aligned(t) && t.stride >= (t.cols + wide - 1) / wide * wide);
}

/* Where a thread stands. */
template <int LANES> struct stand {
  int lane, n;       /* n: columns of its vector that there are, 0 behind the row */
  int32_t col, from; /* its first column; the one it reads, behind the row the panel's first */
  int64_t at;        /* row segment */
};

template <int LANES, int WIDE>
static __device__ __forceinline__ struct stand<LANES> stand_of(const struct gathered &op) {
  struct stand<LANES> me;
  me.lane = (int)threadIdx.x % LANES;
  me.at = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / LANES;
  me.col = ((int32_t)blockIdx.y * LANES + me.lane) * WIDE;
  me.n = max(0, min(WIDE, op.width - me.col));
  me.from = me.n > 0 ? me.col : (int32_t)blockIdx.y *LANES *WIDE;
  return me;
}

/* Threads for a row of that many vectors: powers of two from 4 to 32. */
static inline int
lanes_of_vectors(int64_t vectors) {
  return vectors <= 4 ? 4 : vectors <= 8 ? 8 : vectors <= 16 ? 16 : 32;
}

static inline struct gathered row_segments_of(const struct cuda_layout *a, struct tensor x) {
  const int64_t size = dtype_bytes(x.dtype), wide = 16 / size;
  struct gathered s = {};
  s.row_segment = a->row_segment;
  s.count = a->row_segments;
  s.col = a->col;
  s.x = rows_of(x);
  s.width = (int32_t)x.cols;
  s.vectors = (int32_t)((x.cols + wide - 1) / wide);
  s.whole = holds_vectors(x, wide);
  s.stride = s.vectors * wide;
  return s;
}

/* Bytes of scratch for the pieces; `winners`: beside values. */
static inline int64_t partial_bytes(const struct cuda_layout *a, const struct gathered &s, bool winners) {
  return a->pieces * s.stride * (int64_t)(sizeof(float) + (winners ? sizeof(int32_t) : 0));
}

static inline void place_partials(struct gathered *s, const struct cuda_layout *a, void *workspace) {
  s->partial = (float *)workspace;
  s->partial_winner = (int32_t *)(s->partial + a->pieces * s->stride);
}

static inline dim3 grid_of_row_segments(const struct gathered &s, int lanes) {
  return dim3(blocks_of(s.count, BLOCK / lanes), blocks_of(s.vectors, lanes));
}

/* Rows of the results and of what is added to, floats or T. */
struct results {
  struct rows y, sums;
  bool narrow, whole; /* y is T; rows of both hold whole vectors */
  bool accumulate;
  const uint8_t *has_halo;
};

static inline struct results results_of(struct tensor y, struct tensor sums, int accumulate,
                                        const uint8_t *has_halo, enum dtype dtype) {
  const int64_t wide = 16 / dtype_bytes(dtype);
  struct results r = {};
  r.y = rows_of(y);
  r.sums = sums.data ? rows_of(sums) : r.y;
  r.narrow = y.dtype == BF16;
  r.whole = holds_vectors(y, wide) && holds_vectors(sums, wide);
  r.accumulate = accumulate != 0;
  r.has_halo = has_halo;
  return r;
}

template <class T, int WIDE>
static __device__ __forceinline__ void write_result(const struct results &r, int32_t row, int32_t col, int n,
                                                    const float (&x)[WIDE]) {
  if (sizeof(T) == sizeof(float) || !r.narrow)
    store(at<float>(r.y, row, col), n, r.whole, x);
  else
    store(at<T>(r.y, row, col), n, r.whole, x);
}

static __device__ __forceinline__ bool is_done(const struct results &r, int32_t row) {
  return !r.has_halo || !r.has_halo[row];
}

#endif
