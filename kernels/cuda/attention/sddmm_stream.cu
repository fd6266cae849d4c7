/* Scores of short rows. There a row segment, then its ids and its row of x, then the rows of y come one after
 * the other, and each takes longer than the products. So a group of threads goes from row segment to row
 * segment, as many apart as there are groups: while it works on one, the ids and the row of the next are
 * under way, and the row segment after that. */
#include "kernels/cuda/attention/cosine.cuh"
#include "kernels/cuda/attention/score_arcs.h"

/* A row segment and what is read of it before its turn. */
template <class S> struct ahead {
  struct row_segment row_segment;
  int id; /* of the first entries, one a lane */
  cosine_vector<S> x[S::VECS];
};

static __device__ __forceinline__ struct row_segment row_segment_at(const struct score_arcs &op,
                                                                    uint32_t at) {
  struct row_segment row_segment = {0, 0, 0};
  if (at < op.row_segments) row_segment = read_row_segment(op.row_segment, at);
  return row_segment;
}

template <class S>
static __device__ __forceinline__ void
read_ahead(const struct score_arcs &op, const struct cosine_stand<S> &me,
           const struct row_segment &row_segment, struct ahead<S> &to) {
  const int32_t row = row_segment.target >= 0 ? row_segment.target
                                              : __ldg(op.piece_row + ~row_segment.target);
  to.row_segment = row_segment;
  to.id = me.lane < row_segment.count ? __ldg(op.col + row_segment.first + me.lane) : 0;
  fetch_row(row_at(op.x, row), me, to.x);
}

/* Up to AHEAD entries, of which `left` remain; their ids are with the lanes from b on. What is not there is
 * not read. */
template <class S>
static __device__ __forceinline__ void write_scores(const struct score_arcs &op,
                                                    const struct cosine_stand<S> &me, int left, int id, int b,
                                                    const float (&mine)[S::VECS][S::WIDE], float *scores) {
  cosine_vector<S> y[S::AHEAD][S::VECS];
  float product[S::AHEAD];
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const char *other = row_at(op.y, __shfl_sync(~0u, id, me.first + b + u));
#pragma unroll
    for (int j = 0; j < S::VECS; j++) y[u][j] = {};
    if (u < left) fetch_row(other, me, y[u]);
  }
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) product[u] = product_of_lane<S>(mine, y[u]);
  const float score = sums_of_group<S>(me.lane, product);
  if (me.lane < S::AHEAD && me.lane < left) scores[me.lane] = score;
}

template <class S>
static __device__ __forceinline__ void
score_row_segment(const struct score_arcs &op, const struct cosine_stand<S> &me, const struct ahead<S> &now) {
  const int count = now.row_segment.count, longest = __reduce_max_sync(~0u, count);
  float mine[S::VECS][S::WIDE];
  int id = now.id;
  spread_row<S>(now.x, me, mine);
  for (int at = 0; at < longest; at += S::LANES) {
    const int64_t first = now.row_segment.first + at;
    const int next = at + S::LANES + me.lane < count ? __ldg(op.col + first + S::LANES + me.lane) : 0;
#pragma unroll 1
    for (int b = 0; b < S::LANES && at + b < longest; b += S::AHEAD)
      write_scores(op, me, count - at - b, id, b, mine, op.scores + first + b);
    id = next;
  }
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    sddmm_stream_kernel(const __grid_constant__ struct score_arcs op) {
  const uint32_t step = gridDim.x * S::ROW_SEGMENTS, group = threadIdx.x % 32 / S::LANES;
  uint32_t first = blockIdx.x * S::ROW_SEGMENTS + threadIdx.x / 32 * (32 / S::LANES); /* of the warp */
  struct cosine_stand<S> me;
  struct ahead<S> now, next;
  stand_at(op.width, 0, me);
  read_ahead<S>(op, me, row_segment_at(op, first + group), now);
  struct row_segment after = row_segment_at(op, first + group + step);
  for (; first < op.row_segments; first += step) {
    read_ahead<S>(op, me, after, next);
    after = row_segment_at(op, first + group + 2 * step);
    score_row_segment<S>(op, me, now);
    now = next;
  }
}

template <class S> static int run(struct kernels *k, const struct score_arcs *op) {
  int device = 0, processors = 1;
  TRY_CUDA(cudaGetDevice(&device));
  TRY_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const unsigned blocks = min(blocks_of(op->row_segments, S::ROW_SEGMENTS),
                              (unsigned)(processors * S::BLOCKS));
  sddmm_stream_kernel<S><<<blocks, S::THREADS, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

/* Vectors of a lane, lanes, entries under way, blocks on a multiprocessor: the fastest on an H200. */
template <class T> static int launch(struct kernels *k, const struct score_arcs *op) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const int vectors = (op->width + WIDE - 1) / WIDE;
#define USE(...) return run<cosine_shape<T, true, WIDE, __VA_ARGS__>>(k, op)
  if (vectors <= 8) USE(1, 8, 4, 4);
  if (vectors <= 16) USE(2, 8, 4, 3);
  USE(2, 16, 4, 3);
#undef USE
}

int cuda_sddmm_stream_f32(struct kernels *k, const struct score_arcs *op) {
  return launch<float>(k, op);
}

int cuda_sddmm_stream_bf16(struct kernels *k, const struct score_arcs *op) {
  return launch<bf16>(k, op);
}
