/* One pass over the arcs of a row, for both directions of graph attention (struct attention, struct
 * attention_backward): each arc brings a row of a matrix, X or dz, and weighs it by a coefficient a head,
 * which comes from a few numbers of the arc's two ends. A group of LANES threads takes a row segment of the
 * layout; a lane has VECS vectors of WIDE columns, each of one head.
 *
 * All AHEAD rows of a batch are asked for before anything is done with one of them. The coefficients of a
 * batch are shared out among the TEAM neighbouring lanes that have the same head, and passed round by
 * shuffles. Two sums are kept of each column: over all arcs, and over those on the positive side of
 * LeakyReLU: the gradient of a row's own term follows from these, of the arc's other end as well, since
 *   sum_v slope_v a_vu (k_vu dy_v . x_u - delta_v) = x_u . sum_v slope_v a_vu k_vu dy_v - sum_v slope_v a_vu
 * delta_v needs one scalar product a row in place of one an arc.
 *
 * What an arc moves: a row of `width` elements, 4 bytes of id, and 4 bytes a head forward, 12 backward. */
#ifndef KERNELS_CUDA_ATTENTION_ATTENTION_SUM_CUH
#define KERNELS_CUDA_ATTENTION_ATTENTION_SUM_CUH

#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/parts/long_rows_of_arcs.cuh"
#include "kernels/cuda/attention/parts/partial_columns.cuh"
#include "kernels/cuda/attention/tiles/attention_tiles.h"
#include "kernels/cuda/common/score.cuh"
#include "kernels/cuda/spmm/spmm_sum.cuh"

enum direction { FORWARD, BACKWARD };

/* What tensor cores have summed of rows, each a piece of its own: pieces of windows of 2^shift
 * rows (attention_tiles.h, cosine_windows.h). */
struct attention_windows {
  const int32_t *start;      /* [windows + 1] pieces of each window; NULL: none */
  const int32_t *compressed; /* row of a window of each row; NULL: row i */
  int32_t first;             /* of `partial` */
  int32_t shift;
};

/* Calls add(piece) for what tensor cores have summed of the row, a piece of its window after the other. */
template <class ADD>
static __device__ __forceinline__ void each_window(const struct attention_windows &windows, int32_t row,
                                                   const ADD &add) {
  const int32_t i = windows.compressed ? __ldg(windows.compressed + row) : row;
  const int32_t window = i >> windows.shift, end = __ldg(windows.start + window + 1);
#pragma unroll 1
  for (int32_t p = __ldg(windows.start + window); p < end; p++)
    add(windows.first + (p << windows.shift) + (i & ((1 << windows.shift) - 1)));
}

/* Of the rows of a window of tiles, of vectors. */
enum { TILE_SHIFT = 7, VECTOR_SHIFT = 3 };
static_assert(TILE_ROWS == 1 << TILE_SHIFT && VECTOR_ROWS == 1 << VECTOR_SHIFT,
              "windows have that many rows");

struct attention_sums {
  struct packed_row_segments row_segment;
  int64_t row_segments;
  struct long_rows_of_arcs long_rows;
  const int32_t *col, *piece_row;
  struct rows x;              /* of the arcs' other ends: X, or their messages, which begin with dz */
  struct rows stats;          /* real: term; or row_term, log_sum and delta, `heads` each */
  struct row_places places;   /* of both; rows of two matrices are x.bytes, which are stats.bytes, apart */
  struct rows mine;           /* real: row_term; or term */
  int32_t heads, each, width; /* columns of a head, of all of them */
  bool averaged;              /* x has the columns of one head, for all of them */
  float factor;               /* of coefficients where they weigh x */
  struct dropout dropout;
  const int64_t *col_id;
  const struct scalars *scalars;
  float *partial; /* [pieces, partial_stride]: both sums of all columns, then three numbers a head */
  int64_t partial_stride;
  struct attention_windows windows;
};

/* Shape of a kernel. SINGLE: a block has one head, any number of columns wide; else its panel holds whole
 * heads, whose vectors are a power of two, those of a lane's head at least. WIDE 1: rows at any address;
 * else those of all matrices are WHOLE, of whole vectors at multiples of 16 bytes. */
template <class T_, enum direction DIRECTION_, bool DROPS_, bool SINGLE_, int WIDE_, int VECS_, int LANES_,
          int TEAM_, int AHEAD_, int BLOCKS_>
struct attention_shape {
  typedef T_ T; static constexpr enum direction DIRECTION = DIRECTION_;
  static constexpr bool DROPS = DROPS_, SINGLE = SINGLE_, FORWARDS = DIRECTION_ == FORWARD;
  static constexpr int WIDE = WIDE_, VECS = VECS_, LANES = LANES_, TEAM = TEAM_, AHEAD = AHEAD_;
  static constexpr int THREADS = 256, BLOCKS = BLOCKS_, GROUPS = 32 / LANES, ROW_SEGMENTS = THREADS / LANES;
  static constexpr int PANEL = LANES * VECS * WIDE; /* columns */
  static constexpr int OWN = AHEAD / TEAM;          /* arcs of a batch whose coefficients a lane finds */
  static constexpr int STATS = FORWARDS ? 1 : 3;
  static constexpr bool WHOLE = WIDE > 1, SIDES = true; /* SIDES: both sums are kept */
  typedef attention_shape<T, DIRECTION, true, SINGLE, WIDE, VECS, LANES, TEAM, AHEAD, BLOCKS>
      of_pieces;
  static_assert(AHEAD % TEAM == 0 && LANES % AHEAD == 0, "batches lie within the ids that a group holds");
};

/* Some columns of one row as they lie in memory. */
template <class T, int WIDE> struct columns_in_memory { uint4 v; };
template <class T> struct columns_in_memory<T, 1> { T v; };

template <class T, int WIDE>
static __device__ __forceinline__ struct columns_in_memory<T, WIDE> fetch(const char *from) {
  if constexpr (WIDE == 1)
    return {*(const T *)from};
  else
    return {__ldg((const uint4 *)from)};
}

template <class T, int WIDE>
static __device__ __forceinline__ void spread(const struct columns_in_memory<T, WIDE> &from,
                                              float (&to)[WIDE]) {
  if constexpr (WIDE == 1) {
    to[0] = (float)from.v;
  } else {
    const uint32_t word[4] = {from.v.x, from.v.y, from.v.z, from.v.w};
#pragma unroll
    for (int i = 0; i < WIDE; i++) to[i] = column_of<T>(word, i);
  }
}

/* Where a thread stands, and which columns are its: neighbouring ones of one head. */
template <class S> struct stand {
  int first, lane, member,
      team;       /* thread of the group and of the team in the warp; of the lane in its team */
  unsigned group; /* mask of the group */
  int32_t head;
  int32_t col[S::VECS];     /* of all heads' columns */
  int n[S::VECS];           /* columns there, 0: idle */
  uint32_t offset[S::VECS]; /* bytes of them in a row of x */
  bool leads;               /* writes the head's numbers */
};

/* What a row segment's arcs add up to, forward relative to exp(max). */
template <class S> struct gathered {
  float sum[S::VECS][S::WIDE], positive[S::VECS][S::WIDE];
  float max;  /* forward */
  float all;  /* of the coefficients; or of coefficients times delta */
  float some; /* of those on the positive side */
};

/* How many of WIDE columns there are where `left` are to come, which may be negative. By a comparison that
 * the compiler does not see through: with max(0, min(WIDE, left)) test_dynamic showed on an H100 what a lane
 * with left == 0 would do if it took all WIDE to be there. The PTX is right; ptxas 13.0 is suspected, not
 * proven. */
template <int WIDE> static __device__ __forceinline__ int columns_of(int left) {
  int n;
  asm("{.reg .pred p; setp.gt.s32 p, %1, 0; selp.b32 %0, %2, 0, p;}"
      : "=r"(n)
      : "r"(left), "r"(min(WIDE, left)));
  return n;
}

template <class S>
static __device__ __forceinline__ void stand_at(const struct attention_sums &op, int32_t panel,
                                                struct stand<S> &me) {
  const int thread = (int)threadIdx.x % 32;
  const int32_t end = S::SINGLE ? op.each : op.width;
  me.lane = thread % S::LANES;
  me.first = thread - me.lane;
  me.member = me.lane % S::TEAM;
  me.team = thread - me.member;
  me.group = S::LANES == 32 ? ~0u : ((1u << S::LANES % 32) - 1) << me.first;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    const int32_t at = panel * S::PANEL + (me.lane * S::VECS + j) * S::WIDE, within = at < end ? at : 0;
    const int32_t head = S::SINGLE ? (int32_t)blockIdx.y : within / op.each;
    me.n[j] = columns_of<S::WIDE>(end - at);
    me.col[j] = S::SINGLE ? head * op.each + within : within;
    me.offset[j] = (uint32_t)((op.averaged ? me.col[j] - head * op.each : me.col[j]) *
                              (int32_t)sizeof(typename S::T));
    if (j > 0) continue;
    me.head = head;
    me.leads = S::SINGLE ? me.lane == 0 : me.n[j] > 0 && within % op.each == 0;
  }
}

template <class S> static __device__ __forceinline__ void clear(struct gathered<S> &g) {
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) g.sum[j][i] = g.positive[j][i] = 0;
  }
  g.max = LOWEST;
  g.all = g.some = 0;
}

template <class S> static __device__ __forceinline__ void raise_max(struct gathered<S> &g, float max) {
  const float f = exp2_of(scaled(g.max) - scaled(max));
  g.max = max;
  g.all *= f;
  g.some *= f;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      g.sum[j][i] *= f;
      if (S::SIDES) g.positive[j][i] *= f;
    }
  }
}

/* y += w x */
template <class S>
static __device__ __forceinline__ void
add_times(float w, const struct columns_in_memory<typename S::T, S::WIDE> (&x)[S::VECS],
          float (&y)[S::VECS][S::WIDE]) {
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float value[S::WIDE];
    spread<typename S::T, S::WIDE>(x[j], value);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) y[j][i] = fmaf(w, value[i], y[j][i]);
  }
}

/* sum += |w| x; positive likewise where w > 0. */
template <class S>
static __device__ __forceinline__ void
add_row(float w, const struct columns_in_memory<typename S::T, S::WIDE> (&x)[S::VECS],
        struct gathered<S> &g) {
  const float all = fabsf(w), some = fmaxf(w, 0);
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float value[S::WIDE];
    spread<typename S::T, S::WIDE>(x[j], value);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      g.sum[j][i] = fmaf(all, value[i], g.sum[j][i]);
      g.positive[j][i] = fmaf(some, value[i], g.positive[j][i]);
    }
  }
}

/* k of the arc for a head: the dropout's scale, or 0. */
static __device__ __forceinline__ float keep(const struct attention_sums &op, uint32_t epoch, int64_t row,
                                             int64_t col, int32_t head) {
  const struct philox_block bits = philox(attention_counter(row, col, head / 8, epoch), op.dropout.key);
  const uint32_t high = head & 2 ? bits.word[3] : bits.word[2], low = head & 2 ? bits.word[1] : bits.word[0];
  const uint32_t word = head & 4 ? high : low;
  return (head & 1 ? word >> 16 : word & 0xFFFF) >= op.dropout.threshold ? op.dropout.scale : 0;
}

/* k of the arc between this row and that other end. */
template <class S>
static __device__ __forceinline__ float kept(const struct attention_sums &op, uint32_t epoch, int64_t row_id,
                                             int64_t other_id, int32_t head) {
  if (!S::DROPS) return 1;
  return S::FORWARDS ? keep(op, epoch, row_id, other_id, head) : keep(op, epoch, other_id, row_id, head);
}

/* The numbers of row `row` of `stats` for a head. */
template <class S>
static __device__ __forceinline__ void read_stats(const struct rows &stats, int32_t heads, int32_t row,
                                                  int32_t head, float (&to)[S::STATS]) {
  const float *from = at<float>(stats, row, head);
#pragma unroll
  for (int s = 0; s < S::STATS; s++) to[s] = __ldg(from + s * heads);
}

/* Coefficients of the arcs that this lane weighs, negative on LeakyReLU's other side; totals on the way. */
template <class S>
static __device__ __forceinline__ void weigh(const struct attention_sums &op, const struct stand<S> &me,
                                             int left, float mine, const float (&stats)[S::OWN][S::STATS],
                                             const float (&keeps)[S::OWN], struct gathered<S> &g,
                                             float (&weight)[S::OWN]) {
  float score[S::OWN], top = g.max;
#pragma unroll
  for (int q = 0; q < S::OWN; q++) {
    score[q] = leaky(mine + stats[q][0]);
    if (S::FORWARDS) top = fmaxf(top, left > q * S::TEAM + me.member ? score[q] : LOWEST);
  }
  if (S::FORWARDS) {
#pragma unroll
    for (int o = 1; o < S::TEAM; o *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
    if (top > g.max) raise_max(g, top);
  }
#pragma unroll
  for (int q = 0; q < S::OWN; q++) {
    const bool there = left > q * S::TEAM + me.member, positive = score[q] > 0;
    const float base = S::FORWARDS ? g.max : stats[q][S::STATS > 1 ? 1 : 0];
    const float a = there ? exp2_of(fmaf(score[q], LOG2_E, -scaled(base))) : 0;
    const float number = S::FORWARDS ? a : a * stats[q][S::STATS - 1];
    g.all += number;
    g.some += positive ? number : 0;
    const float w = (S::FORWARDS ? a : a * op.factor) * (S::DROPS ? keeps[q] : 1);
    weight[q] = positive ? w : -w;
  }
}

/* Adds up to AHEAD arcs of which `left` remain; their ids, and the places of these, are with the group's
 * lanes from number b on. Behind a row segment's end its last arc is read again and weighs nothing. */
template <class S>
static __device__ __forceinline__ void add_arcs(const struct attention_sums &op, const struct stand<S> &me,
                                                int left, int id, uint32_t place, int b, float mine,
                                                uint32_t epoch, int64_t row_id, struct gathered<S> &g) {
  struct columns_in_memory<typename S::T, S::WIDE> x[S::AHEAD][S::VECS];
  float stats[S::OWN][S::STATS], keeps[S::OWN], weight[S::OWN];
  int64_t other[S::OWN];
#pragma unroll
  for (int q = 0; q < S::OWN; q++) {
    const int from = me.first + b + q * S::TEAM + me.member;
    read_stats<S>(op.stats, op.heads, (int32_t)__shfl_sync(~0u, place, from), me.head, stats[q]);
    if (S::DROPS) other[q] = __ldg(op.col_id + __shfl_sync(~0u, id, from));
  }
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const uint32_t row = __shfl_sync(~0u, place, me.first + b + u);
#pragma unroll
    for (int j = 0; j < S::VECS; j++)
      x[u][j] = fetch<typename S::T, S::WIDE>(op.x.data + me.offset[j] + (uint64_t)row * op.x.bytes);
  }
#pragma unroll
  for (int q = 0; q < S::OWN && S::DROPS; q++) keeps[q] = kept<S>(op, epoch, row_id, other[q], me.head);
  weigh(op, me, left, mine, stats, keeps, g, weight);
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++)
    add_row(S::TEAM == 1 ? weight[u / S::TEAM] : __shfl_sync(~0u, weight[u / S::TEAM], me.team + u % S::TEAM),
            x[u], g);
}

/* All arcs of a row segment, by the whole warp together. */
template <class S>
static __device__ __forceinline__ void
sum_arcs(const struct attention_sums &op, const struct row_segment &row_segment, int32_t row,
         const struct stand<S> &me, uint32_t epoch, struct gathered<S> &g) {
  const int last = row_segment.count - 1, longest = __reduce_max_sync(~0u, row_segment.count);
  const int32_t *ids = op.col + row_segment.first;
  const int64_t row_id = S::DROPS && last >= 0 ? __ldg(op.dropout.id + row) : 0;
  const float mine = last >= 0 ? __ldg(at<float>(op.mine, row, me.head)) : 0;
  int id = last >= 0 ? __ldg(ids + min(me.lane, last)) : 0;
  clear(g);
  for (int at = 0; at < longest; at += S::LANES) {
    const int next = last >= 0 ? __ldg(ids + min(me.lane + at + S::LANES, last)) : 0;
    const uint32_t place = place_of(op.places, id);
#pragma unroll 1 /* batches must not be drawn together: their loads would not fit the registers */
    for (int b = 0; b < S::LANES && at + b < longest; b += S::AHEAD) /* alike for the whole warp */
      add_arcs(op, me, row_segment.count - at - b, id, place, b, mine, epoch, row_id, g);
    id = next;
  }
#pragma unroll
  for (int o = 1; o < S::TEAM; o *= 2) {
    g.all += __shfl_xor_sync(~0u, g.all, o);
    g.some += __shfl_xor_sync(~0u, g.some, o);
  }
  if (row_segment.count == 0) clear(g); /* 0 times what was read in place of its arcs need not be 0 */
}

#endif
