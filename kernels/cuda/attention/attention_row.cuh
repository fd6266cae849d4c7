/* How the sums over a row's arcs end: pieces of long rows come together, then the row's own arc and what was
 * there before are added, and the results written; see attention_sum.cuh. */
#ifndef KERNELS_CUDA_ATTENTION_ATTENTION_ROW_CUH
#define KERNELS_CUDA_ATTENTION_ATTENTION_ROW_CUH

#include "kernels/cuda/attention/attention_sum.cuh"

/* A row of floats a head. */
struct head_terms {
  const float *data; /* [heads, stride]; NULL: none */
  int64_t stride;
};

/* What a row ends with, of either direction. */
struct attention_epilogue {
  struct rows self, self_stats; /* the row's own arc, as x and stats, which the first rows have */
  int32_t selves;               /* so many */
  struct rows x;                /* backward: X of the row */
  struct rows sum;              /* y; or dx */
  struct rows log_sum, all;     /* forward: log_sum and share; backward `all` alone: term_grad */
  struct rows positive;
  struct rows wide_sum, wide_positive; /* float: the same of rows in parts; data NULL: sum, positive */
  struct rows row_term_grad;
  struct head_terms l, r;
  const uint8_t *has_halo;
  bool accumulate, writes_sum, updates; /* writes_sum: also where the update writes its z */
  bool whole_terms;                     /* rows of l and r hold whole vectors at multiples of 16 bytes */
  struct spmm_epilogue finish;
};

template <class S>
static __device__ __forceinline__ void write_piece(const struct attention_sums &op, int32_t piece,
                                                   const struct stand<S> &me, const struct gathered<S> &g) {
  float *to = op.partial + piece * op.partial_stride;
  const int64_t columns = partial_columns(op.width);
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    store(to + me.col[j], me.n[j], S::WHOLE, g.sum[j]);
    if (S::SIDES) store(to + columns + me.col[j], me.n[j], S::WHOLE, g.positive[j]);
  }
  float *numbers = to + 2 * columns + me.head;
  if (me.leads) numbers[0] = g.max, numbers[op.heads] = g.all, numbers[2 * op.heads] = g.some;
}

/* Of another part of the same row, whose sums are relative to exp(max). */
template <class S> static __device__ __forceinline__ float weight_of_part(struct gathered<S> &g, float max) {
  if (!S::FORWARDS) return 1;
  if (max > g.max) raise_max(g, max);
  return exp2_of(scaled(max) - scaled(g.max));
}

template <class S>
static __device__ __forceinline__ void add_part(float w, int j, const float (&sum)[S::WIDE],
                                                const float (&positive)[S::WIDE], struct gathered<S> &g) {
#pragma unroll
  for (int i = 0; i < S::WIDE; i++) {
    g.sum[j][i] += w * sum[i];
    if (S::SIDES) g.positive[j][i] += w * positive[i];
  }
}

template <class S>
static __device__ __forceinline__ void add_piece(const struct attention_sums &op, int32_t piece,
                                                 const struct stand<S> &me, struct gathered<S> &g) {
  const float *from = op.partial + piece * op.partial_stride;
  const int64_t columns = partial_columns(op.width);
  const float *numbers = from + 2 * columns + me.head;
  const float w = weight_of_part(g, numbers[0]);
  g.all += w * numbers[op.heads];
  g.some += w * numbers[2 * op.heads];
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float sum[S::WIDE], positive[S::WIDE] = {};
    load(from + me.col[j], me.n[j], S::WHOLE, sum);
    if (S::SIDES) load(from + columns + me.col[j], me.n[j], S::WHOLE, positive);
    add_part<S>(w, j, sum, positive, g);
  }
}

/* The arc of a row with itself. */
template <class S>
static __device__ __forceinline__ void
add_self(const struct attention_sums &op, const struct attention_epilogue &epilogue, int32_t row,
         const struct stand<S> &me, uint32_t epoch, struct gathered<S> &g) {
  float stats[S::STATS], keeps = 1;
  read_stats<S>(epilogue.self_stats, op.heads, row, me.head, stats);
  const float score = leaky(*at<float>(op.mine, row, me.head) + stats[0]);
  if (S::FORWARDS && score > g.max) raise_max(g, score);
  const float base = S::FORWARDS ? g.max : stats[S::STATS > 1 ? 1 : 0];
  const float a = exp2_of(fmaf(score, LOG2_E, -scaled(base)));
  const float number = S::FORWARDS ? a : a * stats[S::STATS - 1];
  g.all += number;
  g.some += score > 0 ? number : 0;
  if (S::DROPS && op.dropout.threshold > 0)
    keeps = kept<S>(op, epoch, op.dropout.id[row], op.dropout.id[row], me.head);
  const float w = (S::FORWARDS ? a : a * op.factor) * keeps;
  struct columns_in_memory<typename S::T, S::WIDE> x[S::VECS];
#pragma unroll
  for (int j = 0; j < S::VECS; j++)
    x[j] = fetch<typename S::T, S::WIDE>(epilogue.self.data + me.offset[j] +
                                         (uint64_t)(uint32_t)row * epilogue.self.bytes);
  add_row(score > 0 ? w : -w, x, g);
}

template <class S>
static __device__ __forceinline__ void read_vector(const struct attention_epilogue &epilogue,
                                                   const struct rows &m, int32_t row,
                                                   const struct stand<S> &me, int j, float (&to)[S::WIDE]) {
  read_columns(at<typename S::T>(m, row, me.col[j]), me.n[j], S::WHOLE, to);
}

template <class S>
static __device__ __forceinline__ void
write_vector(const struct attention_epilogue &epilogue, const struct rows &m, int32_t row,
             const struct stand<S> &me, int j, const float (&x)[S::WIDE]) {
  store(at<typename S::T>(m, row, me.col[j]), me.n[j], S::WHOLE, x);
}

/* The same of what rows in parts keep in between. */
template <class S>
static __device__ __forceinline__ void read_part(const struct attention_epilogue &epilogue,
                                                 const struct rows &wide, const struct rows &m, int32_t row,
                                                 const struct stand<S> &me, int j, float (&to)[S::WIDE]) {
  if (sizeof(typename S::T) < sizeof(float) && wide.data)
    load(at<float>(wide, row, me.col[j]), me.n[j], S::WHOLE, to);
  else
    read_vector(epilogue, m, row, me, j, to);
}

template <class S>
static __device__ __forceinline__ void
write_part(const struct attention_epilogue &epilogue, const struct rows &wide, const struct rows &m,
           int32_t row, const struct stand<S> &me, int j, const float (&x)[S::WIDE]) {
  if (sizeof(typename S::T) < sizeof(float) && wide.data)
    store(at<float>(wide, row, me.col[j]), me.n[j], S::WHOLE, x);
  else
    write_vector(epilogue, m, row, me, j, x);
}

/* What a row has from before counts as an arc of score log_sum. */
template <class S>
static __device__ __forceinline__ void add_before(const struct attention_epilogue &epilogue, int32_t row,
                                                  const struct stand<S> &me, struct gathered<S> &g) {
  const float w = weight_of_part(g, *at<float>(epilogue.log_sum, row, me.head));
  g.all += w;
  if (epilogue.all.data) g.some += w * *at<float>(epilogue.all, row, me.head);
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float sum[S::WIDE], positive[S::WIDE] = {};
    if (me.n[j] == 0) continue;
    read_part(epilogue, epilogue.wide_sum, epilogue.sum, row, me, j, sum);
    if (S::SIDES && epilogue.positive.data)
      read_part(epilogue, epilogue.wide_positive, epilogue.positive, row, me, j, positive);
    add_part<S>(w, j, sum, positive, g);
  }
}

/* last: of the panels of a row. */
template <class S>
static __device__ __forceinline__ void
epilogue_forward(const struct attention_sums &op, const struct attention_epilogue &epilogue, int32_t row,
                 bool last, const struct stand<S> &me, struct gathered<S> &g) {
  const bool finished = !epilogue.has_halo || !epilogue.has_halo[row];
  if (epilogue.accumulate) add_before(epilogue, row, me, g);
  __syncwarp(me.group);                            /* all lanes have read what is written now */
  const float inverse = g.all > 0 ? 1 / g.all : 0; /* a row without arcs is 0 */
  if (me.leads && last) {
    *at<float>(epilogue.log_sum, row, me.head) = g.all > 0 ? g.max + logf(g.all) : -INFINITY;
    if (epilogue.all.data) *at<float>(epilogue.all, row, me.head) = g.some * inverse;
  }
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    if (me.n[j] == 0) continue;
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      g.sum[j][i] *= inverse;
      if (S::SIDES) g.positive[j][i] *= inverse;
    }
    if (!finished) {
      if (S::SIDES && epilogue.positive.data)
        write_part(epilogue, epilogue.wide_positive, epilogue.positive, row, me, j, g.positive[j]);
      write_part(epilogue, epilogue.wide_sum, epilogue.sum, row, me, j, g.sum[j]);
      continue;
    }
    if (S::SIDES && epilogue.positive.data)
      write_vector(epilogue, epilogue.positive, row, me, j, g.positive[j]);
    if (epilogue.writes_sum) write_vector(epilogue, epilogue.sum, row, me, j, g.sum[j]);
    if (epilogue.updates) epilogue_row<typename S::T>(epilogue.finish, S::WHOLE, row, me.col[j], g.sum[j]);
  }
}

/* x . (sum over arcs of slope times coefficient times dy), of this lane's columns. */
template <class S>
static __device__ __forceinline__ float product_of_lane(const struct attention_epilogue &epilogue,
                                                        int32_t row, const struct stand<S> &me,
                                                        const struct gathered<S> &g) {
  float product = 0;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float x[S::WIDE];
    if (me.n[j] == 0) continue;
    read_vector(epilogue, epilogue.x, row, me, j, x);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      const float slope = SCORE_SLOPE * g.sum[j][i] + (1 - SCORE_SLOPE) * g.positive[j][i];
      product += i < me.n[j] ? x[i] * slope : 0;
    }
  }
  return product;
}

/* Over the lanes of a head. */
template <class S>
static __device__ __forceinline__ float sum_of_head(const struct attention_sums &op,
                                                    const struct stand<S> &me, float x) {
  const int lanes = S::SINGLE ? S::LANES : op.each / (S::WIDE * S::VECS);
  for (int o = 1; o < lanes; o *= 2) x += __shfl_xor_sync(me.group, x, o);
  return x;
}

/* dx += term_grad l + row_term_grad r */
template <class S>
static __device__ __forceinline__ void
add_terms(const struct attention_sums &op, const struct attention_epilogue &epilogue, int32_t row,
          const struct stand<S> &me, int j, float term_grad, float (&dx)[S::WIDE]) {
  const int32_t within = me.col[j] - me.head * op.each;
  const float row_term_grad = *at<float>(epilogue.row_term_grad, row, me.head);
  float l[S::WIDE], r[S::WIDE];
  load(epilogue.l.data + me.head * epilogue.l.stride + within, me.n[j], epilogue.whole_terms, l);
  load(epilogue.r.data + me.head * epilogue.r.stride + within, me.n[j], epilogue.whole_terms, r);
#pragma unroll
  for (int i = 0; i < S::WIDE; i++) dx[i] += term_grad * l[i] + row_term_grad * r[i];
}

/* Returns what the columns seen so far add to the gradient of the term: `before` of the panels before. A row
 * of one panel is at its end here; of a wider one that gradient is known too late. */
template <class S>
static __device__ __forceinline__ float
end_backward(const struct attention_sums &op, const struct attention_epilogue &epilogue, int32_t row,
             bool only, bool last, const struct stand<S> &me, float before, struct gathered<S> &g) {
  const bool finished = !epilogue.has_halo || !epilogue.has_halo[row];
  const float product = before + sum_of_head(op, me, product_of_lane(epilogue, row, me, g));
  float term_grad = product - SCORE_SLOPE * g.all - (1 - SCORE_SLOPE) * g.some;
  if (epilogue.accumulate) term_grad += *at<float>(epilogue.all, row, me.head);
  __syncwarp(me.group); /* all lanes have read what is written now */
  if (me.leads && last) *at<float>(epilogue.all, row, me.head) = term_grad;
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float dx[S::WIDE] = {};
    if (me.n[j] == 0) continue;
    if (epilogue.accumulate) read_part(epilogue, epilogue.wide_sum, epilogue.sum, row, me, j, dx);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) dx[i] += g.sum[j][i];
    if (finished && epilogue.l.data && only) add_terms(op, epilogue, row, me, j, term_grad, dx);
    if (finished)
      write_vector(epilogue, epilogue.sum, row, me, j, dx);
    else
      write_part(epilogue, epilogue.wide_sum, epilogue.sum, row, me, j, dx);
  }
  return product;
}

/* What a group of threads works on. */
struct row_work {
  bool there;
  struct row_segment segment;
  struct long_row_work long_row; /* PIECES */
  int32_t row;
};

template <bool PIECES>
static __device__ __forceinline__ struct row_work work_of(const struct attention_sums &op, int group,
                                                          int groups) {
  struct row_work work = {false, {0, 0, 0}, {}, 0};
  if constexpr (PIECES) {
    work.long_row = long_row_work_of(op.long_rows, group, groups);
    work.there = work.long_row.there;
    work.row = work.long_row.of.row;
  } else {
    const int64_t i = (int64_t)blockIdx.x * groups + group;
    work.there = i < op.row_segments;
    if (work.there) work.segment = read_row_segment(op.row_segment, i);
    work.row = work.segment.target >= 0 ? work.segment.target : __ldg(op.piece_row + ~work.segment.target);
  }
  return work;
}

/* The sums of a long row. */
template <class S>
static __device__ __forceinline__ void sum_pieces(const struct attention_sums &op,
                                                  const struct row_work &work, const struct stand<S> &me,
                                                  struct gathered<S> &g) {
  add_pieces<S::ROW_SEGMENTS>(
      work.long_row, [&] { clear(g); }, [&](int32_t piece) { add_piece(op, piece, me, g); },
      [&](int32_t piece) { write_piece(op, piece, me, g); });
}

/* PIECES: rows are long ones, whose pieces are added up, and DROPS is for either; else row segments, whose
 * arcs are. WINDOWS: tensor cores have summed some of them.
 */
template <class S, bool PIECES, bool WINDOWS>
static __device__ __forceinline__ void do_row(const struct attention_sums &op,
                                              const struct attention_epilogue &epilogue) {
  const struct row_work work = work_of<PIECES>(op, (int)threadIdx.x / S::LANES, S::ROW_SEGMENTS);
  const uint32_t epoch = S::DROPS ? op.scalars->epoch : 0;
  const int32_t panels = S::SINGLE ? (op.each + S::PANEL - 1) / S::PANEL : 1;
  const int32_t row = work.row;
  float product = 0;
  for (int32_t panel = 0; panel < panels; panel++) {
    struct stand<S> me;
    struct gathered<S> g;
    stand_at(op, S::SINGLE ? panel : (int32_t)blockIdx.y, me);
    if constexpr (PIECES)
      sum_pieces(op, work, me, g);
    else
      sum_arcs(op, work.segment, row, me, epoch, g);
    if (!work.there) continue;
    if (!PIECES && work.segment.target < 0) {
      write_piece(op, ~work.segment.target, me, g);
      continue;
    }
    if constexpr (WINDOWS) each_window(op.windows, row, [&](int32_t piece) { add_piece(op, piece, me, g); });
    if (row < epilogue.selves) add_self(op, epilogue, row, me, epoch, g);
    if constexpr (S::FORWARDS)
      epilogue_forward(op, epilogue, row, panel + 1 == panels, me, g);
    else
      product = end_backward(op, epilogue, row, panels == 1, panel + 1 == panels, me, product, g);
  }
}

template <class S, bool PIECES, bool WINDOWS>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    attention_kernel(const __grid_constant__ struct attention_sums op,
                     const __grid_constant__ struct attention_epilogue epilogue) {
  do_row<S, PIECES, WINDOWS>(op, epilogue);
}

#endif
