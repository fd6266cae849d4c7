/* Scores x_v . y_u of the entries of a sparse matrix, as attention by cosines finds them (cosine.cuh), with
 * nothing done to them but written: see struct sddmm. An entry moves a row of y and 8 bytes. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/cosine.cuh"
#include "kernels/cuda/attention/score_arcs.h"

/* Up to AHEAD entries of which `left` remain, the first of them number `at` of the matrix. */
template <class S>
static __device__ __forceinline__ void
write_scores(const struct score_arcs &op, const struct cosine_stand<S> &me, int left, int id, int b,
             const char *row, const float (&mine)[S::VECS][S::WIDE], int64_t at) {
  cosine_vector<S> y[S::AHEAD][S::VECS];
  float product[S::AHEAD];
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const char *other = row_at(op.y, __shfl_sync(~0u, id, me.first + b + u));
    if (S::FITS)
      fetch_row(other, me, y[u]);
    else
      product[u] = product_in_memory<S>(row, other, op.width, me.lane);
  }
#pragma unroll
  for (int u = 0; u < S::AHEAD && S::FITS; u++) product[u] = product_of_lane<S>(mine, y[u]);
  const float score = sums_of_group<S>(me.lane, product);
  if (me.lane < S::AHEAD && left > me.lane) op.scores[at + me.lane] = score;
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    sddmm_kernel(const __grid_constant__ struct score_arcs op) {
  const int64_t i = (int64_t)blockIdx.x * S::ROW_SEGMENTS + threadIdx.x / S::LANES;
  struct row_segment row_segment = {0, 0, 0};
  struct cosine_stand<S> me;
  if (i < op.row_segments) row_segment = read_row_segment(op.row_segment, i);
  stand_at(op.width, 0, me);
  const int last = row_segment.count - 1, longest = __reduce_max_sync(~0u, row_segment.count);
  const int32_t row = row_segment.target >= 0 ? row_segment.target
                                              : __ldg(op.piece_row + ~row_segment.target);
  const char *from = row_at(op.x, row);
  const int32_t *ids = op.col + row_segment.first;
  cosine_vector<S> raw[S::VECS];
  float mine[S::VECS][S::WIDE];
  fetch_row(from, me, raw);
  spread_row<S>(raw, me, mine);
  int id = last >= 0 ? __ldg(ids + min(me.lane, last)) : 0;
  for (int at = 0; at < longest; at += S::LANES) {
    const int next = last >= 0 ? __ldg(ids + min(me.lane + at + S::LANES, last)) : 0;
#pragma unroll 1
    for (int b = 0; b < S::LANES && at + b < longest; b += S::AHEAD)
      write_scores(op, me, row_segment.count - at - b, id, b, from, mine, row_segment.first + at + b);
    id = next;
  }
}

template <class S> static int run(struct kernels *k, const struct score_arcs *op) {
  sddmm_kernel<S><<<blocks_of(op->row_segments, S::ROW_SEGMENTS), S::THREADS, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

/* FITS, columns of a vector, vectors of a lane, lanes, entries under way, blocks on a multiprocessor. */
template <class T> static int launch(struct kernels *k, const struct score_arcs *op, bool wide) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const int vectors = (op->width + WIDE - 1) / WIDE;
#define USE(...) return run<cosine_shape<T, __VA_ARGS__>>(k, op)
  if (!wide || vectors > 64) USE(false, 1, 1, 32, 4, 3);
  if (vectors <= 4) USE(true, WIDE, 1, 4, 4, 5);
  if (vectors <= 8) USE(true, WIDE, 1, 8, 8, 4);
  if (vectors <= 16) USE(true, WIDE, 1, 16, 8, 4);
  if (vectors <= 32) USE(true, WIDE, 2, 16, 4, 4);
  USE(true, WIDE, 2, 32, 4, 4);
#undef USE
}

/* Mean entries of a row below which groups stream through them. On an H200 streaming lost at a mean of 14. */
constexpr int SHORT_ROW = 8;

/* Whether another kernel takes it. */
static int run_special(struct kernels *k, const struct score_arcs *op, enum dtype dtype, int64_t degree,
                       bool *taken) {
  const int64_t bytes = op->width * dtype_bytes(dtype);
  *taken = true;
  if (degree < SHORT_ROW && bytes > 64 && bytes <= 512)
    return dtype == BF16 ? cuda_sddmm_stream_bf16(k, op) : cuda_sddmm_stream_f32(k, op);
  if (dtype == BF16 && degree >= DENSE_DEGREE && op->width % 8 == 0 && bytes <= 64)
    return cuda_sddmm_dense(k, op);
  *taken = false;
  return OK;
}

int cuda_sddmm(struct kernels *k, const struct sddmm *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const struct score_arcs arcs = {a->row_segment,      a->row_segments,    a->col,
                                  a->piece_row,        rows_of(op->x),     rows_of(op->y),
                                  (int32_t)op->x.cols, (float *)op->scores};
  const bool vectors = cuda_is_aligned(op->x) && cuda_is_aligned(op->y);
  bool taken = false;
  if (a->row_segments == 0) return OK;
  if (vectors) TRY(run_special(k, &arcs, op->x.dtype, a->gathered / op->a->csr->rows, &taken));
  if (taken) return OK;
  return op->x.dtype == BF16 ? launch<bf16>(k, &arcs, vectors) : launch<float>(k, &arcs, vectors);
}
