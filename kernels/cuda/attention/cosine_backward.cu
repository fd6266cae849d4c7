/* Gradients of x, x / |x| and beta over the arcs into a row and out of it; see struct cosine_backward. An
 * entry moves a row of x, one of dz where arcs go out, and up to 16 bytes. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/cosine.cuh"
#include "kernels/cuda/spmm/spmm_epilogue_of.cuh"

struct cosine_gradients {
  struct rows dx, dn, beta_grad;
  bool whole;
};

template <class S> struct gradient_sums { float dx[S::VECS][S::WIDE], dn[S::VECS][S::WIDE], beta; };

/* A row of the result. */
template <class S> struct cosine_node {
  const char *message;
  float x[S::VECS][S::WIDE], dz[S::VECS][S::WIDE];
  float inverse, log_sum, delta;
};

template <class S>
static __device__ __forceinline__ void read_node(const struct cosine_arcs &op, int32_t row,
                                                 const struct cosine_stand<S> &me,
                                                 struct cosine_node<S> &node) {
  cosine_vector<S> x[S::VECS], dz[S::VECS];
  node.message = row_at(op.rows, row);
  fetch_row(node.message, me, x);
  fetch_row(node.message + op.dz, me, dz);
  spread_row<S>(x, me, node.x);
  spread_row<S>(dz, me, node.dz);
  node.inverse = *(const float *)(node.message + op.inverse);
  node.log_sum = ((const float *)(node.message + op.reals))[0];
  node.delta = ((const float *)(node.message + op.reals))[1];
}

/* The coefficient of an arc with cosine c, and the gradient of its score. */
static __device__ __forceinline__ float2 coefficient(float beta, float c, float log_sum, float product,
                                                     float delta) {
  const float a = exp2_of(fmaf(__fmul_rn(beta, c), LOG2_E, -scaled(log_sum)));
  return make_float2(a, a * (product - delta));
}

/* What one entry adds: of dz, of x; the gradient of beta. */
struct entry {
  float dz, x, beta;
};

/* ARCS: COSINE_IN | COSINE_OUT. in = dz_i . x_j, out = dz_j . x_i; the other end's numbers. */
template <class S, int ARCS>
static __device__ __forceinline__ struct entry entry_of(float beta, const struct cosine_node<S> &node,
                                                        float product, float in, float out, float inverse,
                                                        float log_sum, float delta) {
  const float c = product * node.inverse * inverse;
  struct entry entry = {0, 0, 0};
  if (ARCS & COSINE_IN) {
    entry.x = coefficient(beta, c, node.log_sum, in, node.delta).y;
    entry.beta = entry.x * c;
  }
  if (ARCS & COSINE_OUT) {
    const float2 a = coefficient(beta, c, log_sum, out, delta);
    entry.dz = a.x;
    entry.x += a.y;
  }
  entry.x *= beta * inverse;
  return entry;
}

/* Up to AHEAD entries of which `left` remain. */
template <class S, int ARCS>
static __device__ __forceinline__ void
add_entries(const struct cosine_arcs &op, const struct cosine_stand<S> &me, int left, int id, int b,
            float beta, const struct cosine_node<S> &node, struct gradient_sums<S> &g) {
  constexpr bool IN = ARCS & COSINE_IN, OUT = ARCS & COSINE_OUT;
  cosine_vector<S> x[S::AHEAD][S::VECS], dz[S::AHEAD][S::VECS];
  float product[S::AHEAD], in[S::AHEAD] = {}, out[S::AHEAD] = {};
  const char *mine = row_at(op.message, __shfl_sync(~0u, id, me.first + b + me.member));
  const float inverse = __ldg((const float *)(mine + op.inverse));
  const float log_sum = OUT ? __ldg((const float *)(mine + op.reals)) : 0;
  const float delta = OUT ? __ldg((const float *)(mine + op.reals) + 1) : 0;
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    const char *other = row_at(op.message, __shfl_sync(~0u, id, me.first + b + u));
    fetch_row(other, me, x[u]);
    if (OUT) fetch_row(other + op.dz, me, dz[u]);
    if (S::FITS) continue;
    product[u] = product_in_memory<S>(node.message, other, op.width, me.lane);
    if (IN) in[u] = product_in_memory<S>(node.message + op.dz, other, op.width, me.lane);
    if (OUT) out[u] = product_in_memory<S>(node.message, other + op.dz, op.width, me.lane);
  }
#pragma unroll
  for (int u = 0; u < S::AHEAD && S::FITS; u++) {
    product[u] = product_of_lane<S>(node.x, x[u]);
    if (IN) in[u] = product_of_lane<S>(node.dz, x[u]);
    if (OUT) out[u] = product_of_lane<S>(node.x, dz[u]);
  }
  const float whole = sums_of_group<S>(me.lane, product), into = IN ? sums_of_group<S>(me.lane, in) : 0,
              out_of = OUT ? sums_of_group<S>(me.lane, out) : 0;
  struct entry entry = entry_of<S, ARCS>(beta, node, whole, into, out_of, inverse, log_sum, delta);
  if (left <= me.member) entry = {0, 0, 0};
  g.beta += entry.beta;
#pragma unroll
  for (int u = 0; u < S::AHEAD; u++) {
    if (OUT) add_times<S>(__shfl_sync(~0u, entry.dz, me.first + u), dz[u], g.dx);
    add_times<S>(__shfl_sync(~0u, entry.x, me.first + u), x[u], g.dn);
  }
}

template <class S, int ARCS>
static __device__ __forceinline__ void
sum_entries(const struct cosine_arcs &op, const struct row_segment &row_segment,
            const struct cosine_stand<S> &me, float beta, const struct cosine_node<S> &node,
            struct gradient_sums<S> &g) {
  const int last = row_segment.count - 1, longest = __reduce_max_sync(~0u, row_segment.count);
  const int32_t *ids = op.col + row_segment.first;
  int id = last >= 0 ? __ldg(ids + min(me.lane, last)) : 0;
  for (int at = 0; at < longest; at += S::LANES) {
    const int next = last >= 0 ? __ldg(ids + min(me.lane + at + S::LANES, last)) : 0;
#pragma unroll 1
    for (int b = 0; b < S::LANES && at + b < longest; b += S::AHEAD)
      add_entries<S, ARCS>(op, me, row_segment.count - at - b, id, b, beta, node, g);
    id = next;
  }
#pragma unroll
  for (int o = 1; o < S::AHEAD; o *= 2) g.beta += __shfl_xor_sync(~0u, g.beta, o);
  if (row_segment.count == 0) g = {};
}

template <class S>
static __device__ __forceinline__ void write_piece(const struct cosine_arcs &op, int32_t piece,
                                                   const struct cosine_stand<S> &me,
                                                   const struct gradient_sums<S> &g) {
  const int64_t columns = partial_columns(op.width);
  float *to = op.partial + piece * op.partial_stride;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    store(to + me.col[j], me.n[j], S::WIDE > 1, g.dx[j]);
    store(to + columns + me.col[j], me.n[j], S::WIDE > 1, g.dn[j]);
  }
  if (me.lane == 0) to[2 * columns] = g.beta;
}

template <class S>
static __device__ __forceinline__ void add_piece(const struct cosine_arcs &op, int32_t piece,
                                                 const struct cosine_stand<S> &me,
                                                 struct gradient_sums<S> &g) {
  const int64_t columns = partial_columns(op.width);
  const float *from = op.partial + piece * op.partial_stride;
  g.beta += from[2 * columns];
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float dx[S::WIDE], dn[S::WIDE];
    load(from + me.col[j], me.n[j], S::WIDE > 1, dx);
    load(from + columns + me.col[j], me.n[j], S::WIDE > 1, dn);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) g.dx[j][i] += dx[i], g.dn[j][i] += dn[i];
  }
}

/* Adds a row of the result, of elements SUM, to sums; what it held before as well, where that counts. */
template <class S, class SUM>
static __device__ __forceinline__ void
write_row(const struct cosine_arcs &op, const struct cosine_gradients &to, const struct rows &m, int32_t row,
          const struct cosine_stand<S> &me, float (&x)[S::VECS][S::WIDE]) {
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float before[S::WIDE] = {};
    if (me.n[j] == 0) continue;
    if (op.accumulate) load(at<SUM>(m, row, me.col[j]), me.n[j], to.whole, before);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) x[j][i] += before[i];
    store(at<SUM>(m, row, me.col[j]), me.n[j], to.whole, x[j]);
  }
}

template <class S, class SUM, int ARCS>
static __device__ __forceinline__ void
end_row(const struct cosine_arcs &op, const struct cosine_gradients &to, int32_t row, bool last,
        const struct cosine_stand<S> &me, float beta, const struct cosine_node<S> &node,
        struct gradient_sums<S> &g) {
  if (row < op.selves) {
    const float whole = product_of_rows(op, node.message, node.message, me);
    const float in = product_of_rows(op, node.message + op.dz, node.message, me);
    const struct entry entry = entry_of<S, ARCS>(beta, node, whole, in, in, node.inverse, node.log_sum,
                                                 node.delta);
    g.beta += entry.beta;
#pragma unroll
    for (int i = 0; i < S::VECS * S::WIDE; i++) {
      g.dx[i / S::WIDE][i % S::WIDE] += entry.dz * node.dz[i / S::WIDE][i % S::WIDE];
      g.dn[i / S::WIDE][i % S::WIDE] += entry.x * node.x[i / S::WIDE][i % S::WIDE];
    }
  }
  write_row<S, SUM>(op, to, to.dx, row, me, g.dx);
  write_row<S, SUM>(op, to, to.dn, row, me, g.dn);
  float *sum = at<float>(to.beta_grad, row, 0);
  if (me.lane == 0 && last) *sum = g.beta + (op.accumulate ? *sum : 0);
}

/* PIECES: rows are long ones, whose pieces are added up; else row segments, whose entries are. WINDOWS:
 * tensor cores have summed some of them. */
template <class S, class SUM, int ARCS, bool PIECES, bool WINDOWS>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    cosine_backward_kernel(const __grid_constant__ struct cosine_arcs op,
                           const __grid_constant__ struct cosine_gradients to) {
  const int group = (int)threadIdx.x / S::LANES;
  const int64_t i = (int64_t)blockIdx.x * S::ROW_SEGMENTS + group;
  const int32_t panels = S::FITS ? 1 : (op.width + S::PANEL - 1) / S::PANEL;
  const float beta = __ldg(op.beta);
  struct row_segment row_segment = {0, 0, 0};
  struct long_row_work work = {{}, i < op.row_segments, false, group};
  if (PIECES) work = long_row_work_of(op.long_rows, group, S::ROW_SEGMENTS);
  if (work.there && !PIECES) row_segment = read_row_segment(op.row_segment, i);
  const int32_t row = PIECES                    ? work.of.row
                      : row_segment.target >= 0 ? row_segment.target
                                                : __ldg(op.piece_row + ~row_segment.target);
  for (int32_t panel = 0; panel < panels; panel++) {
    struct cosine_stand<S> me;
    struct cosine_node<S> node;
    struct gradient_sums<S> g = {};
    stand_at(op.width, panel, me);
    read_node(op, row, me, node);
    if (!PIECES) sum_entries<S, ARCS>(op, row_segment, me, beta, node, g);
    if (PIECES)
      add_pieces<S::ROW_SEGMENTS>(
          work, [&] { g = {}; }, [&](int32_t piece) { add_piece(op, piece, me, g); },
          [&](int32_t piece) { write_piece(op, piece, me, g); });
    if (!work.there) continue;
    if (!PIECES && row_segment.target < 0) {
      write_piece(op, ~row_segment.target, me, g);
      continue;
    }
    if (WINDOWS) each_window(op.windows, row, [&](int32_t piece) { add_piece(op, piece, me, g); });
    end_row<S, SUM, ARCS>(op, to, row, panel + 1 == panels, me, beta, node, g);
  }
}

template <class S, class SUM, int ARCS, bool WINDOWS>
static int run_with(struct kernels *k, const struct cosine_arcs *op, const struct cosine_gradients *to) {
  const unsigned row_segments = blocks_of(op->row_segments, S::ROW_SEGMENTS),
                 rest = op->long_rows.count > 0 ? blocks_of_long_rows(op->long_rows, S::ROW_SEGMENTS) : 0;
  cosine_backward_kernel<S, SUM, ARCS, false, WINDOWS>
      <<<row_segments, S::THREADS, 0, cuda_stream(k)>>>(*op, *to);
  TRY_LAUNCH();
  if (rest == 0) return OK;
  cosine_backward_kernel<S, SUM, ARCS, true, WINDOWS><<<rest, S::THREADS, 0, cuda_stream(k)>>>(*op, *to);
  TRY_LAUNCH();
  return OK;
}

template <class S, class SUM, int ARCS>
static int run(struct kernels *k, const struct cosine_arcs *op, const struct cosine_gradients *to) {
  const struct cosine_arcs arcs = arcs_for_shape<S>(op);
  if constexpr (takes_windows<S>())
    if (op->windows.start) return run_with<S, SUM, ARCS, true>(k, &arcs, to);
  return run_with<S, SUM, ARCS, false>(k, &arcs, to);
}

/* FITS, columns of a vector, vectors of a lane, lanes, entries under way, blocks on a multiprocessor. */
template <class T, class SUM, int ARCS>
static int launch(struct kernels *k, const struct cosine_arcs *op, const struct cosine_gradients *to,
                  bool wide) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const int vectors = (op->width + WIDE - 1) / WIDE;
#define USE(...) return run<cosine_shape<T, __VA_ARGS__>, SUM, ARCS>(k, op, to)
  if (!wide || vectors > 64) USE(false, 1, 1, 32, 4, 2);
  if (vectors <= 4) USE(true, WIDE, 1, 4, 4, 2);
  if (vectors <= 8) USE(true, WIDE, 1, 8, 4, 2);
  if (vectors <= 16) USE(true, WIDE, 1, 16, 4, 2);
  if (vectors <= 32) USE(true, WIDE, 1, 32, 4, 2);
  USE(true, WIDE, 2, 32, 4, 1);
#undef USE
}

template <class T>
static int launch_arcs(struct kernels *k, int arcs, const struct cosine_arcs *op,
                       const struct cosine_gradients *to, bool wide) {
  if (arcs == COSINE_IN) return launch<T, float, COSINE_IN>(k, op, to, wide);
  return arcs == COSINE_OUT ? launch<T, float, COSINE_OUT>(k, op, to, wide)
                            : launch<T, float, COSINE_IN | COSINE_OUT>(k, op, to, wide);
}

int cuda_cosine_backward(struct kernels *k, const struct cosine_backward *op) {
  const int64_t wide = 16 / dtype_bytes(op->message.dtype);
  struct cosine_arcs arcs = {};
  struct cosine_gradients to = {};
  if (op->dx.cols == 0 || cuda_layout(op->a)->row_segments == 0) return OK;
  TRY(set_arcs(k, op->a, op->dx.cols, op->message, op->rows, &arcs));
  arcs.beta = (const float *)op->beta;
  arcs.selves = (int32_t)op->selves;
  arcs.accumulate = op->accumulate != 0;
  to.dx = rows_of(op->dx);
  to.dn = rows_of(op->dn);
  to.beta_grad = rows_of(op->beta_grad);
  to.whole = is_whole_or_absent(op->dx, wide) && is_whole_or_absent(op->dn, wide);
  if (arcs.windows.start) {
    struct cosine_windows windows = windows_of(op->a, op->message, op->rows, &arcs);
    windows.arcs = op->arcs;
    TRY(cuda_cosine_tiles_backward(k, &windows));
    TRY(cuda_cosine_vectors_backward(k, &windows));
  }
  const bool vectors = cuda_is_aligned(op->message) && cuda_is_aligned(op->rows);
  if (op->dx.dtype == BF16) return launch<bf16, bf16, COSINE_IN | COSINE_OUT>(k, &arcs, &to, vectors);
  return op->message.dtype == BF16 ? launch_arcs<bf16>(k, op->arcs, &arcs, &to, vectors)
                                   : launch_arcs<float>(k, op->arcs, &arcs, &to, vectors);
}
