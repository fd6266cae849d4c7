/* What attention by cosines shares between its directions; see struct cosine_attention. A group of LANES
 * threads takes a row segment of the layout, a lane VECS vectors of WIDE columns of each row. A batch is
 * AHEAD arcs; their scalar products are added up over the lanes so that each lane ends with that of one arc,
 * finds its coefficient and passes it round. FITS: the row lies with the group's lanes, and rows of all
 * matrices hold whole vectors at multiples of 16 bytes; else WIDE is 1 and the row goes in panels, each of
 * which forms the whole products anew. */
#ifndef KERNELS_CUDA_ATTENTION_COSINE_CUH
#define KERNELS_CUDA_ATTENTION_COSINE_CUH

#include "kernels/cuda/attention/attention_row.cuh"
#include "kernels/cuda/attention/parts/cosine_windows.h"

struct cosine_arcs {
  struct packed_row_segments row_segment;
  int64_t row_segments;
  struct long_rows_of_arcs long_rows;
  const int32_t *col, *piece_row;
  struct rows message, rows;   /* of the arcs' other ends, of the rows themselves */
  uint32_t inverse, dz, reals; /* bytes from a message's begin */
  int32_t width;
  const float *beta;
  int32_t selves; /* of the first rows, that have an arc with themselves */
  bool accumulate;
  float *partial; /* [pieces, partial_stride]; behind those of row segments what tensor cores leave */
  int64_t partial_stride;
  struct attention_windows windows;
};

template <class T_, bool FITS_, int WIDE_, int VECS_, int LANES_, int AHEAD_, int BLOCKS_>
struct cosine_shape {
  typedef T_ T;
  static constexpr bool FITS = FITS_;
  static constexpr int WIDE = WIDE_, VECS = VECS_, LANES = LANES_, AHEAD = AHEAD_, BLOCKS = BLOCKS_;
  static constexpr int THREADS = 256, ROW_SEGMENTS = THREADS / LANES, PANEL = LANES * VECS * WIDE;
  static_assert(LANES % AHEAD == 0, "batches lie within the ids that a group holds");
};

/* Whether rows of that shape may have arcs in tiles or vectors, which are of bf16 and up to 64 columns. */
template <class S> static constexpr bool takes_windows() {
  return sizeof(typename S::T) < sizeof(float) && (!S::FITS || S::PANEL <= COSINE_TILES_WIDTH);
}

template <class S> struct cosine_stand {
  int first, lane, member; /* thread of the group in the warp; which arc of a batch is this lane's */
  unsigned group;
  int32_t col[S::VECS];
  int n[S::VECS];
};

template <class S>
static __device__ __forceinline__ void stand_at(int32_t width, int32_t panel, struct cosine_stand<S> &me) {
  const int thread = (int)threadIdx.x % 32;
  me.lane = thread % S::LANES;
  me.first = thread - me.lane;
  me.member = me.lane % S::AHEAD;
  me.group = S::LANES == 32 ? ~0u : ((1u << S::LANES % 32) - 1) << me.first;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    const int32_t at = panel * S::PANEL + (me.lane + j * S::LANES) * S::WIDE;
    me.n[j] = max(0, min(S::WIDE, width - at));
    me.col[j] = me.n[j] > 0 ? at : 0;
  }
}

static __device__ __forceinline__ const char *row_at(const struct rows &m, int32_t row) {
  return m.data + (uint64_t)(uint32_t)row * m.bytes;
}

template <class S> using cosine_vector = struct columns_in_memory<typename S::T, S::WIDE>;

/* This lane's columns of elements that begin at `from`. */
template <class S>
static __device__ __forceinline__ void fetch_row(const char *from, const struct cosine_stand<S> &me,
                                                 cosine_vector<S> (&to)[S::VECS]) {
#pragma unroll
  for (int j = 0; j < S::VECS; j++)
    to[j] = fetch<typename S::T, S::WIDE>(from + me.col[j] * (int)sizeof(typename S::T));
}

/* As floats, 0 where there are no columns. */
template <class S>
static __device__ __forceinline__ void spread_row(const cosine_vector<S> (&from)[S::VECS],
                                                  const struct cosine_stand<S> &me,
                                                  float (&to)[S::VECS][S::WIDE]) {
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    spread<typename S::T, S::WIDE>(from[j], to[j]);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) to[j][i] = i < me.n[j] ? to[j][i] : 0;
  }
}

/* What this lane adds to the scalar product of two rows: of its columns, one already as floats with zeros
 * where there are none; or, where rows do not fit, of every LANES-th column of the rows in memory. */
template <class S>
static __device__ __forceinline__ float product_of_lane(const float (&x)[S::VECS][S::WIDE],
                                                        const cosine_vector<S> (&y)[S::VECS]) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float value[S::WIDE];
    spread<typename S::T, S::WIDE>(y[j], value);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) sum = fmaf(x[j][i], value[i], sum);
  }
  return sum;
}

template <class S>
static __device__ __forceinline__ float product_in_memory(const char *x, const char *y, int32_t width,
                                                          int lane) {
  typedef typename S::T T;
  float sum = 0;
  for (int32_t j = lane; j < width; j += S::LANES)
    sum = fmaf((float)((const T *)x)[j], (float)((const T *)y)[j], sum);
  return sum;
}

/* Sums over the group's lanes of AHEAD numbers each: lane l returns that of number l % AHEAD. By whole warps.
 */
template <class S> static __device__ __forceinline__ float sums_of_group(int lane, float (&d)[S::AHEAD]) {
#pragma unroll
  for (int o = S::AHEAD / 2; o > 0; o /= 2) {
#pragma unroll
    for (int i = 0; i < o; i++) {
      const float mine = lane & o ? d[i + o] : d[i], other = lane & o ? d[i] : d[i + o];
      d[i] = mine + __shfl_xor_sync(~0u, other, o);
    }
  }
  float sum = d[0];
#pragma unroll
  for (int o = S::AHEAD; o < S::LANES; o *= 2) sum += __shfl_xor_sync(~0u, sum, o);
  return sum;
}

/* The same number in every lane. */
template <class S> static __device__ __forceinline__ float sum_of_all(unsigned group, float x) {
#pragma unroll
  for (int o = 1; o < S::LANES; o *= 2) x += __shfl_xor_sync(group, x, o);
  return x;
}

/* The scalar product of two rows of messages, by the group. */
template <class S>
static __device__ __forceinline__ float product_of_rows(const struct cosine_arcs &op, const char *x,
                                                        const char *y, const struct cosine_stand<S> &me) {
  return sum_of_all<S>(me.group, product_in_memory<S>(x, y, op.width, me.lane));
}

static inline int set_arcs(struct kernels *k, const struct layout *layout, int64_t width,
                           struct tensor message, struct tensor rows, struct cosine_arcs *op) {
  const struct cuda_layout *a = cuda_layout(layout);
  const struct cosine_message parts = cosine_parts(k, message, width);
  op->row_segment = a->row_segment;
  op->row_segments = a->row_segments;
  op->long_rows = long_rows_of(a);
  op->col = a->col;
  op->piece_row = a->piece_row;
  op->message = rows_of(message);
  op->rows = rows_of(rows);
  op->inverse = (uint32_t)((char *)parts.inverse.data - (char *)message.data);
  op->dz = (uint32_t)((char *)parts.dz.data - (char *)message.data);
  op->reals = (uint32_t)((char *)parts.log_sum.data - (char *)message.data);
  op->width = (int32_t)width;
  op->partial_stride = 2 * partial_columns(width) + 4;
  if (a->tiles.count > 0)
    op->windows = {a->tiles.start, a->compressed, (int32_t)a->pieces, TILE_SHIFT};
  else if (a->condensed.blocks > 0)
    op->windows = {a->condensed.start, a->compressed, (int32_t)a->pieces, VECTOR_SHIFT};
  const int64_t partials = a->pieces + a->tiles.pieces * TILE_ROWS + a->condensed.pieces * a->condensed.side;
  return kernels_workspace(k, partials * op->partial_stride * (int64_t)sizeof(float), (void **)&op->partial);
}

/* The arcs for kernels of that shape. Where rows go in panels no block adds a row's pieces: a piece's maximum
 * and total serve all panels, and the first one would change them. */
template <class S> static inline struct cosine_arcs arcs_for_shape(const struct cosine_arcs *op) {
  struct cosine_arcs arcs = *op;
  if (!S::FITS) arcs.long_rows.talls = 0;
  return arcs;
}

/* The arcs that tensor cores take, which are summed before the others. */
static inline struct cosine_windows windows_of(const struct layout *layout, struct tensor message,
                                               struct tensor rows, const struct cosine_arcs *op) {
  struct cosine_windows windows = {};
  windows.a = layout;
  windows.width = op->width;
  windows.message = message;
  windows.rows = rows;
  windows.beta = op->beta;
  windows.sums = op->partial + cuda_layout(layout)->pieces * op->partial_stride;
  windows.stride = op->partial_stride;
  return windows;
}

#endif
