/* The sums of spmm. A vector is 16 bytes of a row of X. LANES threads share a row segment and read VECS
 * vectors each of every row of X that it names; the warp's other groups work on other row segments;
 * blockIdx.y is the panel of LANES VECS vectors. A lane keeps AHEAD VECS loads in flight. The column ids of
 * the next AHEAD entries are read one a lane meanwhile, and passed round by shuffles. Where LANES does not
 * divide a warp, its spare threads double the last lane and write nothing. */
#ifndef KERNELS_CUDA_SPMM_SPMM_SUM_CUH
#define KERNELS_CUDA_SPMM_SPMM_SUM_CUH

#include "kernels/cuda/common/row_places.cuh"
#include "kernels/cuda/layout/layout.h"
#include "kernels/cuda/layout/row_segment.cuh"
#include "kernels/cuda/spmm/loss_row.cuh"
#include "kernels/cuda/spmm/norm_row.cuh"

struct sums {
  struct packed_row_segments row_segment;
  int64_t row_segments; /* fewer than 2^31 */
  uint32_t early,
      early_blocks; /* of spmm_stream.cuh: row segments before all others, blocks that take these */
  uint32_t crowded; /* of spmm_stream.cuh: see struct spmm_part */
  const int32_t *col;
  const float *value, *col_scale; /* NULL: 1 */
  const int32_t *value_id;        /* entry i has value[value_id[i]]; NULL: value[i] */
  const char *x;
  struct row_places places;
  uint32_t x_bytes;       /* from row to row, where all are of one matrix */
  int32_t first, vectors; /* of a row those from `first` on are summed, up to `vectors` */
  float *partial;         /* [pieces, partial_stride] */
  int64_t partial_stride;
};

/* What ends a row in the same kernel. PLAIN: a row scale and an update at most, which is plain, too (see
 * plain_row). SUM: all that spmm may add, and the update without a norm. LOSS: that and the update's loss.
 * NORM: the update with a layer norm. These are for rows of whole vectors; ANY: as SUM, of rows at any
 * address. */
enum row_epilogue { EPILOGUE_PLAIN, EPILOGUE_SUM, EPILOGUE_ANY, EPILOGUE_LOSS, EPILOGUE_NORM };

/* Column i of a vector. */
template <class T> static __device__ __forceinline__ float column_of(const uint32_t (&word)[4], int i) {
  if (sizeof(T) == sizeof(float)) return __uint_as_float(word[i % 4]);
  return __uint_as_float(i % 2 ? word[i / 2] & 0xFFFF0000u : word[i / 2] << 16);
}

/* Shape of a kernel. */
template <class T_, int VECS_, int LANES_, int AHEAD_, int THREADS_, int BLOCKS_> struct shape {
  typedef T_ T;
  static constexpr int WIDE = 16 / (int)sizeof(T), VECS = VECS_, LANES = LANES_, AHEAD = AHEAD_;
  static constexpr int THREADS = THREADS_, BLOCKS = BLOCKS_; /* of a block, on a multiprocessor */
  static constexpr int GROUPS = 32 / LANES, ROW_SEGMENTS = THREADS / 32 * GROUPS; /* of a warp, of a block */
  static constexpr int IDS = (AHEAD + LANES - 1) / LANES;                         /* that a lane holds */
  static constexpr int PANEL = LANES * VECS;                                      /* vectors */
};

/* Where a thread stands. */
struct place {
  int first; /* thread of the group in its warp */
  int lane;
  bool spare;
};

/* Adds up to AHEAD entries of which `left` remain (FULL: all); where their rows lie and their factors are
 * with the group's lanes. Loads need no test: behind a row segment's end they repeat its last entry, which is
 * not added. */
template <class SHAPE, bool FACTORS, bool FULL>
static __device__ __forceinline__ void
add_entries(const struct place &me, const char *const (&x)[SHAPE::VECS], uint32_t unit, int left,
            const uint32_t (&at)[SHAPE::IDS], const float (&factor)[SHAPE::IDS],
            float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  constexpr int LANES = SHAPE::LANES;
  uint4 v[SHAPE::AHEAD][SHAPE::VECS];
#pragma unroll
  for (int u = 0; u < SHAPE::AHEAD; u++) {
    const uint32_t row = __shfl_sync(~0u, at[u / LANES], me.first + u % LANES);
#pragma unroll
    for (int j = 0; j < SHAPE::VECS; j++) v[u][j] = __ldg((const uint4 *)(x[j] + (uint64_t)row * unit));
  }
#pragma unroll
  for (int u = 0; u < SHAPE::AHEAD; u++) {
    const float w = FACTORS ? __shfl_sync(~0u, factor[u / LANES], me.first + u % LANES) : 1;
    const bool there = FULL || left > u;
#pragma unroll
    for (int j = 0; j < SHAPE::VECS; j++) {
      const uint32_t word[4] = {v[u][j].x, v[u][j].y, v[u][j].z, v[u][j].w};
#pragma unroll
      for (int i = 0; i < SHAPE::WIDE; i++) {
        const float value = column_of<typename SHAPE::T>(word, i);
        const float more = FACTORS ? fmaf(w, value, sum[j][i]) : sum[j][i] + value;
        sum[j][i] = there ? more : sum[j][i];
      }
    }
  }
}

/* sum = the entries of one row segment for the vectors of this lane; by the whole warp together. */
template <class SHAPE, bool FACTORS>
static __device__ __forceinline__ void
sum_row_segment(const struct sums &op, const struct row_segment &row_segment, const struct place &me,
                const char *const (&x)[SHAPE::VECS], float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  constexpr int LANES = SHAPE::LANES, IDS = SHAPE::IDS, AHEAD = SHAPE::AHEAD;
  const int last = row_segment.count - 1;
  const int32_t *ids = op.col + row_segment.first;
  const int longest = __reduce_max_sync(~0u, row_segment.count),
            shortest = __reduce_min_sync(~0u, row_segment.count);
  int id[IDS];
#pragma unroll
  for (int i = 0; i < IDS; i++) id[i] = last >= 0 ? __ldg(ids + min(me.lane + i * LANES, last)) : 0;
#pragma unroll 1 /* batches must not be drawn together: their loads would not fit the registers */
  for (int at = 0; at < longest; at += AHEAD) { /* alike for the whole warp */
    int next[IDS];
    uint32_t place[IDS];
    float factor[IDS];
#pragma unroll
    for (int i = 0; i < IDS; i++) {
      const int here = min(me.lane + at + i * LANES, last),
                ahead = min(me.lane + at + AHEAD + i * LANES, last);
      next[i] = last >= 0 ? __ldg(ids + ahead) : 0;
      place[i] = place_of(op.places, id[i]);
      if (FACTORS) {
        int64_t at_value = row_segment.first + here;
        if (op.value_id && last >= 0) at_value = __ldg(op.value_id + at_value);
        factor[i] = op.value && last >= 0 ? __ldg(op.value + at_value) : 1;
        if (op.col_scale && last >= 0) factor[i] *= __ldg(op.col_scale + id[i]);
      }
    }
    if (at + AHEAD <= shortest)
      add_entries<SHAPE, FACTORS, true>(me, x, op.places.unit, AHEAD, place, factor, sum);
    else
      add_entries<SHAPE, FACTORS, false>(me, x, op.places.unit, row_segment.count - at, place, factor, sum);
#pragma unroll
    for (int i = 0; i < IDS; i++) id[i] = next[i];
  }
}

/* A row segment of a part of a long row. */
template <class SHAPE>
static __device__ __forceinline__ void write_piece(const struct sums &op, int32_t piece, int vector,
                                                   const float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  float *to = op.partial + (int64_t)piece * op.partial_stride;
#pragma unroll
  for (int j = 0; j < SHAPE::VECS; j++, vector += SHAPE::LANES) {
    if (vector < op.vectors) store(to + vector * SHAPE::WIDE, SHAPE::WIDE, true, sum[j]);
  }
}

template <class SHAPE, enum row_epilogue EPILOGUE>
static __device__ __forceinline__ void
write_row_segment(const struct sums &op, const struct spmm_epilogue &epilogue,
                  const struct row_segment &row_segment, int vector, float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  constexpr int WIDE = SHAPE::WIDE;
  typedef typename SHAPE::T T;
  if (row_segment.target < 0) return write_piece<SHAPE>(op, ~row_segment.target, vector, sum);
  if constexpr (EPILOGUE == EPILOGUE_NORM) {
    norm_row<T, SHAPE::LANES>(epilogue, row_segment.target, vector * WIDE, SHAPE::LANES * WIDE, sum);
  } else {
#pragma unroll
    for (int j = 0; j < SHAPE::VECS; j++, vector += SHAPE::LANES) {
      if (vector >= op.vectors) break;
      if constexpr (EPILOGUE == EPILOGUE_PLAIN)
        plain_row<T>(epilogue, row_segment.target, vector * WIDE, sum[j]);
      else
        epilogue_row<T>(epilogue, EPILOGUE == EPILOGUE_SUM || epilogue.whole, row_segment.target,
                        vector * WIDE, sum[j]);
    }
  }
}

/* The same by the whole warp, with the loss of rows; there: this thread has a slot. */
template <class SHAPE>
static __device__ __forceinline__ void
write_losses(const struct sums &op, const struct spmm_epilogue &epilogue,
             const struct row_segment &row_segment, const struct place &me, bool there, int32_t label,
             int vector, float (&sum)[SHAPE::VECS][SHAPE::WIDE]) {
  constexpr int WIDE = SHAPE::WIDE, LANES = SHAPE::LANES;
  if (there && row_segment.target < 0) write_piece<SHAPE>(op, ~row_segment.target, vector, sum);
  loss_row<typename SHAPE::T, LANES>(epilogue, there && row_segment.target >= 0, row_segment.target, label,
                                     me.first, me.lane, vector * WIDE, LANES * WIDE, sum);
}

/* One row segment a group: the scheduler of blocks balances the work. */
template <class SHAPE, bool FACTORS, enum row_epilogue EPILOGUE>
static __global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::BLOCKS)
    spmm_kernel(const __grid_constant__ struct sums op,
                const __grid_constant__ struct spmm_epilogue epilogue) {
  constexpr int LANES = SHAPE::LANES, GROUPS = SHAPE::GROUPS;
  const int thread = (int)threadIdx.x % 32, group = min(thread / LANES, GROUPS - 1);
  const struct place me = {group * LANES, min(thread - group * LANES, LANES - 1), thread >= GROUPS * LANES};
  const int first = op.first + (int)blockIdx.y * SHAPE::PANEL, vector = first + me.lane;
  const int64_t at = (int64_t)blockIdx.x * SHAPE::ROW_SEGMENTS + (int)threadIdx.x / 32 * GROUPS + group;
  const char *x[SHAPE::VECS]; /* idle lanes read what the first one reads */
#pragma unroll
  for (int j = 0; j < SHAPE::VECS; j++) {
    const int mine = vector + j * LANES;
    x[j] = op.x + (mine < op.vectors ? mine : first) * 16;
  }
  struct row_segment row_segment = {0, 0, 0};
  if (at < op.row_segments) row_segment = read_row_segment(op.row_segment, at);
  const bool there = at < op.row_segments && !me.spare;
  int32_t label = -1;
  if (EPILOGUE == EPILOGUE_LOSS && there && row_segment.target >= 0)
    label = __ldg(epilogue.loss.label + row_segment.target);
  pdl_launch_dependents();
  float sum[SHAPE::VECS][SHAPE::WIDE] = {};
  sum_row_segment<SHAPE, FACTORS>(op, row_segment, me, x, sum);
  if constexpr (EPILOGUE == EPILOGUE_LOSS)
    write_losses<SHAPE>(op, epilogue, row_segment, me, there, label, vector, sum);
  else if (there)
    write_row_segment<SHAPE, EPILOGUE>(op, epilogue, row_segment, vector, sum);
}

#endif
