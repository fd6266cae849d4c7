/* y_v = sum_u softmax_u(beta n_v . n_u) x_u in one pass over the arcs of a row, with a running maximum; see
 * struct cosine_attention. An arc moves a row of x and 8 bytes. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/cosine.cuh"
#include "kernels/cuda/elementwise/epilogue.h"
#include "kernels/cuda/spmm/spmm_epilogue_of.cuh"

struct cosine_row_epilogue {
  struct rows log_sum, y, sums; /* sums: float, of rows in parts; data NULL: y */
  const uint8_t *has_halo;
  bool updates;
  struct spmm_epilogue finish;
};

/* Relative to exp(max). */
template <class S> struct cosine_sums { float max, total, y[S::VECS][S::WIDE]; };

template <class S> static __device__ __forceinline__ struct cosine_sums<S> no_sums() {
  return {LOWEST, 0, {}};
}

template <class S>
static __device__ __forceinline__ void raise_max(struct cosine_sums<S> &g, float max) {
  const float f = exp2_of(scaled(g.max) - scaled(max));
  g.max = max;
  g.total *= f;
#pragma unroll
  for (int i = 0; i < S::VECS * S::WIDE; i++) g.y[i / S::WIDE][i % S::WIDE] *= f;
}

/* Up to AHEAD arcs of which `left` remain. */
template <class S>
static __device__ __forceinline__ void
add_arcs(const struct cosine_arcs &op, const struct cosine_stand<S> &me, int left, int id, int b,
         const char *row, const float (&mine)[S::VECS][S::WIDE], float scale, struct cosine_sums<S> &g) {
  cosine_vector<S> x[S::AHEAD][S::VECS];
  float product[S::AHEAD];
  const float inverse = __ldg(
      (const float *)(row_at(op.message, __shfl_sync(~0u, id, me.first + b + me.member)) + op.inverse));
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const char *other = row_at(op.message, __shfl_sync(~0u, id, me.first + b + u));
    fetch_row(other, me, x[u]);
    if (!S::FITS) product[u] = product_in_memory<S>(row, other, op.width, me.lane);
  }
#pragma unroll
  for (int u = 0; u < S::AHEAD && S::FITS; u++) product[u] = product_of_lane<S>(mine, x[u]);
  const float score = sums_of_group<S>(me.lane, product) * scale * inverse;
  const bool there = left > me.member;
  float top = fmaxf(g.max, there ? score : LOWEST);
#pragma unroll
  for (int o = 1; o < S::AHEAD; o *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
  if (top > g.max) raise_max(g, top);
  const float weight = there ? exp2_of(fmaf(score, LOG2_E, -scaled(g.max))) : 0;
  g.total += weight;
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) add_times<S>(__shfl_sync(~0u, weight, me.first + u), x[u], g.y);
}

template <class S>
static __device__ __forceinline__ void sum_arcs(const struct cosine_arcs &op,
                                                const struct row_segment &row_segment, int32_t row,
                                                const struct cosine_stand<S> &me, struct cosine_sums<S> &g) {
  const int last = row_segment.count - 1, longest = __reduce_max_sync(~0u, row_segment.count);
  const int32_t *ids = op.col + row_segment.first;
  const char *from = row_at(op.rows, row);
  cosine_vector<S> raw[S::VECS];
  float mine[S::VECS][S::WIDE];
  fetch_row(from, me, raw);
  spread_row<S>(raw, me, mine);
  const float scale = __ldg(op.beta) * *(const float *)(from + op.inverse);
  int id = last >= 0 ? __ldg(ids + min(me.lane, last)) : 0;
  for (int at = 0; at < longest; at += S::LANES) {
    const int next = last >= 0 ? __ldg(ids + min(me.lane + at + S::LANES, last)) : 0;
#pragma unroll 1
    for (int b = 0; b < S::LANES && at + b < longest; b += S::AHEAD)
      add_arcs(op, me, row_segment.count - at - b, id, b, from, mine, scale, g);
    id = next;
  }
#pragma unroll
  for (int o = 1; o < S::AHEAD; o *= 2) g.total += __shfl_xor_sync(~0u, g.total, o);
  if (row_segment.count == 0) g = no_sums<S>();
}

template <class S>
static __device__ __forceinline__ void write_piece(const struct cosine_arcs &op, int32_t piece,
                                                   const struct cosine_stand<S> &me,
                                                   const struct cosine_sums<S> &g) {
  float *to = op.partial + piece * op.partial_stride, *numbers = to + 2 * partial_columns(op.width);
#pragma unroll
  for (int j = 0; j < S::VECS; j++) store(to + me.col[j], me.n[j], S::WIDE > 1, g.y[j]);
  if (me.lane == 0) numbers[0] = g.max, numbers[1] = g.total;
}

/* The weight of sums relative to exp(max). */
template <class S> static __device__ __forceinline__ float weight_of(struct cosine_sums<S> &g, float max) {
  if (max > g.max) raise_max(g, max);
  return exp2_of(scaled(max) - scaled(g.max));
}

template <class S>
static __device__ __forceinline__ void add_piece(const struct cosine_arcs &op, int32_t piece,
                                                 const struct cosine_stand<S> &me, struct cosine_sums<S> &g) {
  const float *from = op.partial + piece * op.partial_stride, *numbers = from + 2 * partial_columns(op.width);
  const float w = weight_of(g, numbers[0]);
  g.total += w * numbers[1];
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float y[S::WIDE];
    load(from + me.col[j], me.n[j], S::WIDE > 1, y);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) g.y[j][i] += w * y[i];
  }
}

/* Of rows in parts, what they keep in between. */
template <class S>
static __device__ __forceinline__ void read_part(const struct cosine_row_epilogue &epilogue, int32_t row,
                                                 const struct cosine_stand<S> &me, int j,
                                                 float (&to)[S::WIDE]) {
  if (sizeof(typename S::T) < sizeof(float) && epilogue.sums.data)
    load(at<float>(epilogue.sums, row, me.col[j]), me.n[j], S::FITS, to);
  else
    load(at<typename S::T>(epilogue.y, row, me.col[j]), me.n[j], S::FITS, to);
}

template <class S>
static __device__ __forceinline__ void write_part(const struct cosine_row_epilogue &epilogue, int32_t row,
                                                  const struct cosine_stand<S> &me, int j,
                                                  const float (&y)[S::WIDE]) {
  if (sizeof(typename S::T) < sizeof(float) && epilogue.sums.data)
    store(at<float>(epilogue.sums, row, me.col[j]), me.n[j], S::FITS, y);
  else
    store(at<typename S::T>(epilogue.y, row, me.col[j]), me.n[j], S::FITS, y);
}

template <class S>
static __device__ __forceinline__ void
end_row(const struct cosine_arcs &op, const struct cosine_row_epilogue &epilogue, int32_t row, bool last,
        const struct cosine_stand<S> &me, struct cosine_sums<S> &g) {
  const bool finished = !epilogue.has_halo || !epilogue.has_halo[row];
  float *log_sum = at<float>(epilogue.log_sum, row, 0);
  if (row < op.selves) {
    const char *from = row_at(op.rows, row);
    const float inverse = *(const float *)(from + op.inverse),
                score = *op.beta * product_of_rows(op, from, from, me) * inverse * inverse;
    cosine_vector<S> x[S::VECS];
    const float w = weight_of(g, score);
    fetch_row(from, me, x);
    g.total += w;
    add_times<S>(w, x, g.y);
  }
  const float w = op.accumulate ? weight_of(g, *log_sum) : 0;
  g.total += w;
  __syncwarp(me.group); /* all lanes have read what is written now */
  if (me.lane == 0 && last) *log_sum = g.total > 0 ? g.max + logf(g.total) : -INFINITY;
  const float inverse = g.total > 0 ? 1 / g.total : 0; /* a row without arcs is 0 */
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float before[S::WIDE] = {};
    if (me.n[j] == 0) continue;
    if (op.accumulate) read_part(epilogue, row, me, j, before);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) g.y[j][i] = (g.y[j][i] + w * before[i]) * inverse;
    if (!finished)
      write_part(epilogue, row, me, j, g.y[j]);
    else if (epilogue.updates)
      epilogue_row<typename S::T>(epilogue.finish, S::FITS, row, me.col[j], g.y[j]);
    else
      store(at<typename S::T>(epilogue.y, row, me.col[j]), me.n[j], S::FITS, g.y[j]);
  }
}

/* PIECES: rows are long ones, whose pieces are added up; else row segments, whose arcs are. WINDOWS: tensor
 * cores have summed some of them. */
template <class S, bool PIECES, bool WINDOWS>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    cosine_kernel(const __grid_constant__ struct cosine_arcs op,
                  const __grid_constant__ struct cosine_row_epilogue epilogue) {
  const int group = (int)threadIdx.x / S::LANES;
  const int64_t i = (int64_t)blockIdx.x * S::ROW_SEGMENTS + group;
  const int32_t panels = S::FITS ? 1 : (op.width + S::PANEL - 1) / S::PANEL;
  struct row_segment row_segment = {0, 0, 0};
  struct long_row_work work = {{}, i < op.row_segments, false, group};
  if (PIECES) work = long_row_work_of(op.long_rows, group, S::ROW_SEGMENTS);
  if (work.there && !PIECES) row_segment = read_row_segment(op.row_segment, i);
  const int32_t row = PIECES                    ? work.of.row
                      : row_segment.target >= 0 ? row_segment.target
                                                : __ldg(op.piece_row + ~row_segment.target);
  for (int32_t panel = 0; panel < panels; panel++) {
    struct cosine_stand<S> me;
    struct cosine_sums<S> g = no_sums<S>();
    stand_at(op.width, panel, me);
    if (!PIECES) sum_arcs(op, row_segment, row, me, g);
    if (PIECES)
      add_pieces<S::ROW_SEGMENTS>(
          work, [&] { g = no_sums<S>(); }, [&](int32_t piece) { add_piece(op, piece, me, g); },
          [&](int32_t piece) { write_piece(op, piece, me, g); });
    if (!work.there) continue;
    if (!PIECES && row_segment.target < 0) {
      write_piece(op, ~row_segment.target, me, g);
      continue;
    }
    if (WINDOWS) each_window(op.windows, row, [&](int32_t piece) { add_piece(op, piece, me, g); });
    end_row(op, epilogue, row, panel + 1 == panels, me, g);
  }
}

template <class S, bool WINDOWS>
static int run_with(struct kernels *k, const struct cosine_arcs *op,
                    const struct cosine_row_epilogue *epilogue) {
  cosine_kernel<S, false, WINDOWS>
      <<<blocks_of(op->row_segments, S::ROW_SEGMENTS), S::THREADS, 0, cuda_stream(k)>>>(*op, *epilogue);
  TRY_LAUNCH();
  if (op->long_rows.count == 0) return OK;
  cosine_kernel<S, true, WINDOWS>
      <<<blocks_of_long_rows(op->long_rows, S::ROW_SEGMENTS), S::THREADS, 0, cuda_stream(k)>>>(*op,
                                                                                               *epilogue);
  TRY_LAUNCH();
  return OK;
}

template <class S>
static int run(struct kernels *k, const struct cosine_arcs *op, const struct cosine_row_epilogue *epilogue) {
  const struct cosine_arcs arcs = arcs_for_shape<S>(op);
  if constexpr (takes_windows<S>())
    if (op->windows.start) return run_with<S, true>(k, &arcs, epilogue);
  return run_with<S, false>(k, &arcs, epilogue);
}

/* FITS, columns of a vector, vectors of a lane, lanes, arcs under way, blocks on a multiprocessor. */
template <class T>
static int launch(struct kernels *k, const struct cosine_arcs *op, const struct cosine_row_epilogue *epilogue,
                  bool wide) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const int vectors = (op->width + WIDE - 1) / WIDE;
#define USE(...) return run<cosine_shape<T, __VA_ARGS__>>(k, op, epilogue)
  if (!wide || vectors > 64) USE(false, 1, 1, 32, 4, 3);
  if (vectors <= 4) USE(true, WIDE, 1, 4, 4, 3);
  if (vectors <= 8) USE(true, WIDE, 1, 8, 8, 2);
  if (vectors <= 16) USE(true, WIDE, 1, 16, 8, 2);
  if (vectors <= 32) USE(true, WIDE, 1, 32, 8, 2);
  USE(true, WIDE, 2, 32, 4, 2);
#undef USE
}

int cuda_cosine_attention(struct kernels *k, const struct cosine_attention *op) {
  const int64_t wide = 16 / dtype_bytes(op->y.dtype);
  const bool norm = op->epilogue && op->epilogue->norm != NORM_NONE;
  struct cosine_arcs arcs = {};
  struct cosine_row_epilogue epilogue = {};
  struct spmm_epilogue *f = &epilogue.finish;
  if (op->y.cols == 0 || cuda_layout(op->a)->row_segments == 0) return OK;
  TRY(set_arcs(k, op->a, op->y.cols, op->message, op->rows, &arcs));
  arcs.beta = (const float *)op->beta;
  arcs.selves = op->self ? (int32_t)op->rows.rows : 0;
  arcs.accumulate = op->accumulate != 0;
  epilogue.log_sum = rows_of(op->log_sum);
  epilogue.y = f->y = f->out = f->sums = rows_of(op->y);
  epilogue.sums = rows_of(op->sums);
  epilogue.has_halo = op->has_halo;
  f->whole = is_whole_or_absent(op->y, wide);
  epilogue.updates = op->epilogue && !norm;
  f->width = (int32_t)op->y.cols;
  f->fills = f->whole && is_padded_or_absent(op->y);
  f->narrow = true;
  f->end.scalars = k->scalars;
  if (epilogue.updates) add_epilogue(f, op->epilogue, wide);
  if (arcs.windows.start) {
    const struct cosine_windows windows = windows_of(op->a, op->message, op->rows, &arcs);
    TRY(cuda_cosine_tiles(k, &windows));
    TRY(cuda_cosine_vectors(k, &windows));
  }
  const bool vectors = cuda_is_aligned(op->message) && cuda_is_aligned(op->rows) && f->whole &&
                       is_whole_or_absent(op->y, wide) && is_whole_or_absent(op->sums, wide);
  TRY(op->y.dtype == BF16 ? launch<bf16>(k, &arcs, &epilogue, vectors)
                          : launch<float>(k, &arcs, &epilogue, vectors));
  if (!norm) return OK;
  return cuda_epilogue_rows(k, op->epilogue, cuda_layout(op->a)->row, op->a->csr->rows, op->has_halo);
}
