/* Attention with dynamic scores, for all three passes over arcs: forward, and backward over the arcs into a
 * row and out of it (struct attention, struct dynamic_backward). A group of LANES threads takes a row segment
 * of the layout, a lane VECS vectors of WIDE columns of one head; `team` neighbouring lanes hold a head, add
 * up its scalar products for all arcs of a batch, and each finds the coefficients for itself. FITS: a head
 * lies with the lanes of its team; else the head goes in panels, each of which forms the whole products anew.
 *
 * Of an arc (v <- u) a row of the pattern has one end, of which it keeps x_u or right_v in registers (`own`),
 * and reads the other end's (`other`). Both products,
 *   score . LeakyReLU(own + other)  and, backward,  dy_v . x_u,
 * need both ends' columns; what is added up over a row's arcs is
 *   forward:     sum = a k x_u
 *   DYNAMIC_IN:  sum = s_vu
 *   DYNAMIC_OUT: sum = a k dy_v, positive = s_vu
 * What an arc moves: a row of x and 4 bytes of id; on the way out two rows and 8 bytes a head. */
#ifndef KERNELS_CUDA_ATTENTION_DYNAMIC_CUH
#define KERNELS_CUDA_ATTENTION_DYNAMIC_CUH

#include "kernels/cuda/attention/attention_launch.cuh"

enum class dynamic_pass { FORWARD, IN, OUT };

template <class T_, dynamic_pass PASS_, bool FITS_, bool SINGLE_, int WIDE_, int VECS_, int LANES_,
          int AHEAD_, int BLOCKS_>
struct dynamic_shape : attention_shape<T_, PASS_ == dynamic_pass::FORWARD ? FORWARD : BACKWARD, true, SINGLE_,
                                       WIDE_, VECS_, LANES_, 1, AHEAD_, BLOCKS_> {
  static constexpr dynamic_pass PASS = PASS_;
  static constexpr bool FITS = FITS_, SIDES = PASS_ == dynamic_pass::OUT;
};

template <class S> using dynamic_vector = struct columns_in_memory<typename S::T, S::WIDE>;

/* The row of a group, and what its lanes hold of it: 0 where there are no columns. */
template <class S> struct dynamic_node {
  int team;
  uint4 mask[S::VECS]; /* bits of a vector of columns that there are */
  float own[S::VECS][S::WIDE], score[S::VECS][S::WIDE], dz[S::VECS][S::WIDE]; /* dz: DYNAMIC_IN */
  float log_sum, delta;                                                       /* DYNAMIC_IN */
  const typename S::T *own_at, *dz_at; /* the head's columns in memory */
  const float *score_at;
};

template <class S> static __device__ __forceinline__ uint4 mask_of(int n) {
  uint32_t word[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (sizeof(typename S::T) == sizeof(float))
      word[i] = i < n ? ~0u : 0;
    else
      word[i] = 2 * i + 1 < n ? ~0u : 2 * i < n ? 0xFFFFu : 0;
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

template <class S>
static __device__ __forceinline__ void read_node(const struct attention_sums &op,
                                                 const struct attention_epilogue &epilogue,
                                                 const struct dynamic_ends &ends, int32_t row,
                                                 const struct stand<S> &me, struct dynamic_node<S> &node) {
  typedef typename S::T T;
  const int32_t head = me.head * op.each, dz = op.averaged ? 0 : head;
  node.team = S::SINGLE || op.heads == 1 ? S::LANES : op.each / (S::WIDE * S::VECS);
  node.own_at = at<T>(op.mine, row, head);
  node.score_at = epilogue.l.data + me.head * epilogue.l.stride;
  if (S::PASS == dynamic_pass::IN) node.dz_at = at<T>(ends.dz, row, dz);
  if (S::PASS == dynamic_pass::IN) node.log_sum = *at<float>(ends.stats, row, me.head);
  if (S::PASS == dynamic_pass::IN) node.delta = *at<float>(ends.stats, row, op.heads + me.head);
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    const int32_t within = me.col[j] - head;
    node.mask[j] = mask_of<S>(me.n[j]);
    load(node.own_at + within, me.n[j], S::WHOLE, node.own[j]);
    load(node.score_at + within, me.n[j], epilogue.whole_terms, node.score[j]);
    if (S::PASS == dynamic_pass::IN) load(node.dz_at + within, me.n[j], S::WHOLE, node.dz[j]);
  }
}

/* This lane's vector of another row, 0 where there are no columns. */
template <class S>
static __device__ __forceinline__ dynamic_vector<S> fetch_other(const char *from, const uint4 &mask) {
  dynamic_vector<S> x = fetch<typename S::T, S::WIDE>(from);
  if constexpr (S::WIDE > 1) x.v = make_uint4(x.v.x & mask.x, x.v.y & mask.y, x.v.z & mask.z, x.v.w & mask.w);
  return x;
}

/* What this lane adds to both products of an arc: of its columns; or, where heads do not fit, of every
 * LANES-th column of the head in memory. dz: of the arc's v, on the way out. */
template <class S>
static __device__ __forceinline__ float2 products_of_lane(const struct dynamic_node<S> &node,
                                                          const dynamic_vector<S> (&other)[S::VECS],
                                                          const dynamic_vector<S> (&dz)[S::VECS]) {
  float2 sum = make_float2(0, 0);
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float x[S::WIDE], z[S::WIDE];
    spread<typename S::T, S::WIDE>(other[j], x);
    if (S::PASS == dynamic_pass::OUT) spread<typename S::T, S::WIDE>(dz[j], z);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      sum.x = fmaf(node.score[j][i], leaky(node.own[j][i] + x[i]), sum.x);
      if (S::PASS == dynamic_pass::IN) sum.y = fmaf(node.dz[j][i], x[i], sum.y);
      if (S::PASS == dynamic_pass::OUT) sum.y = fmaf(z[i], node.own[j][i], sum.y);
    }
  }
  return sum;
}

template <class S>
static __device__ __forceinline__ float2 products_in_memory(const struct dynamic_node<S> &node, int32_t each,
                                                            int lane, const typename S::T *other,
                                                            const typename S::T *dz) {
  float2 sum = make_float2(0, 0);
  for (int32_t j = lane; j < each; j += S::LANES) {
    const float own = (float)node.own_at[j], x = (float)other[j];
    sum.x = fmaf(node.score_at[j], leaky(own + x), sum.x);
    if (S::PASS == dynamic_pass::IN) sum.y = fmaf((float)node.dz_at[j], x, sum.y);
    if (S::PASS == dynamic_pass::OUT) sum.y = fmaf((float)dz[j], own, sum.y);
  }
  return sum;
}

/* to += de LeakyReLU'(own + other) */
template <class S>
static __device__ __forceinline__ void add_slopes(float de, const struct dynamic_node<S> &node,
                                                  const dynamic_vector<S> (&other)[S::VECS],
                                                  float (&to)[S::VECS][S::WIDE]) {
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float x[S::WIDE];
    spread<typename S::T, S::WIDE>(other[j], x);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) to[j][i] += node.own[j][i] + x[i] > 0 ? de : SCORE_SLOPE * de;
  }
}

/* Where a batch's arcs lead: rows of x, or of dz with right, and their global ids. */
struct dynamic_others {
  struct rows x, right, stats;
  const int64_t *id;
};

/* Up to COUNT arcs of which `left` remain; their ids are with the group's lanes from place b on. By whole
 * warps. */
template <class S, int COUNT>
static __device__ __forceinline__ void
add_arcs(const struct attention_sums &op, const struct dynamic_others &others, const struct stand<S> &me,
         const struct dynamic_node<S> &node, int left, int id, int b, uint32_t epoch, int64_t row_id,
         struct gathered<S> &g) {
  typedef typename S::T T;
  constexpr bool OUT = S::PASS == dynamic_pass::OUT;
  const int team = node.team, member = me.lane & (team - 1), first = me.first + me.lane - member;
  dynamic_vector<S> x[COUNT][S::VECS], dz[COUNT][S::VECS];
  float2 product[COUNT];
  float log_sum[COUNT], delta[COUNT], keeps[COUNT], drawn = 1;
#pragma unroll
  for (int u = 0; u < COUNT; u++) {
    const int c = __shfl_sync(~0u, id, me.first + b + u);
    const struct rows &from = OUT ? others.right : others.x;
#pragma unroll
    for (int j = 0; j < S::VECS; j++) {
      x[u][j] = fetch_other<S>((const char *)at<T>(from, c, me.col[j]), node.mask[j]);
      if (OUT) dz[u][j] = fetch_other<S>((const char *)at<T>(others.x, c, 0) + me.offset[j], node.mask[j]);
    }
    log_sum[u] = OUT ? __ldg(at<float>(others.stats, c, me.head)) : node.log_sum;
    delta[u] = OUT ? __ldg(at<float>(others.stats, c, op.heads + me.head)) : node.delta;
    if (!S::FITS)
      product[u] = products_in_memory<S>(node, op.each, me.lane, at<T>(from, c, me.head * op.each),
                                         at<T>(others.x, c, op.averaged ? 0 : me.head * op.each));
  }
#pragma unroll
  for (int u = 0; u < COUNT; u++) { /* a draw serves as many arcs as the team has members */
    keeps[u] = 1;
    if (op.dropout.threshold == 0) continue;
    if ((u & (team - 1)) == 0) {
      const int64_t other = others.id[__shfl_sync(~0u, id, me.first + (b + u + member) % S::LANES)];
      drawn = OUT ? keep(op, epoch, other, row_id, me.head) : keep(op, epoch, row_id, other, me.head);
    }
    keeps[u] = __shfl_sync(~0u, drawn, first + (u & (team - 1)));
  }
#pragma unroll
  for (int u = 0; u < COUNT && S::FITS; u++) product[u] = products_of_lane<S>(node, x[u], dz[u]);
  for (int o = 1; o < team; o *= 2) {
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
      product[u].x += __shfl_xor_sync(~0u, product[u].x, o);
      if (!S::FORWARDS) product[u].y += __shfl_xor_sync(~0u, product[u].y, o);
    }
  }
  if (S::FORWARDS) {
    float top = g.max;
#pragma unroll
    for (int u = 0; u < COUNT; u++) top = fmaxf(top, left > u ? product[u].x : LOWEST);
    if (top > g.max) raise_max(g, top);
  }
#pragma unroll
  for (int u = 0; u < COUNT; u++) {
    const float base = S::FORWARDS ? g.max : log_sum[u];
    const float a = left > u ? exp2_of(fmaf(product[u].x, LOG2_E, -scaled(base))) : 0;
    const float de = a * (keeps[u] * op.factor * product[u].y - delta[u]);
    if (S::FORWARDS) g.all += a;
    if (S::FORWARDS) add_times<S>(a * keeps[u], x[u], g.sum);
    if (S::PASS == dynamic_pass::IN) add_slopes<S>(de, node, x[u], g.sum);
    if (OUT) add_times<S>(a * op.factor * keeps[u], dz[u], g.sum);
    if (OUT) add_slopes<S>(de, node, x[u], g.positive);
  }
}

/* All arcs of a row segment, by the whole warp together. */
template <class S>
static __device__ __forceinline__ void
sum_arcs(const struct attention_sums &op, const struct dynamic_others &others,
         const struct row_segment &row_segment, const struct stand<S> &me, const struct dynamic_node<S> &node,
         uint32_t epoch, int64_t row_id, struct gathered<S> &g) {
  const int last = row_segment.count - 1, longest = __reduce_max_sync(~0u, row_segment.count);
  const int32_t *ids = op.col + row_segment.first;
  int id = last >= 0 ? __ldg(ids + min(me.lane, last)) : 0;
  for (int at = 0; at < longest; at += S::LANES) {
    const int next = last >= 0 ? __ldg(ids + min(me.lane + at + S::LANES, last)) : 0;
#pragma unroll 1
    for (int b = 0; b < S::LANES && at + b < longest; b += S::AHEAD)
      add_arcs<S, S::AHEAD>(op, others, me, node, row_segment.count - at - b, id, b, epoch, row_id, g);
    id = next;
  }
  if (row_segment.count == 0) clear(g); /* 0 times what was read in place of its arcs need not be 0 */
}

/* grad (+)= sum + score s, products (+)= own s; what a row had before counts in the second of two parts, and
 * products also on the second way. */
template <class S>
static __device__ __forceinline__ void
end_backward(const struct attention_epilogue &epilogue, const struct dynamic_ends &ends, int32_t row,
             const struct stand<S> &me, const struct dynamic_node<S> &node, const struct gathered<S> &g) {
  constexpr bool OUT = S::PASS == dynamic_pass::OUT;
  const bool finished = !epilogue.has_halo || !epilogue.has_halo[row];
#pragma unroll
  for (int j = 0; j < S::VECS; j++) {
    float grad[S::WIDE] = {}, products[S::WIDE] = {};
    float *const to = at<float>(ends.products, row, me.col[j]);
    if (me.n[j] == 0) continue;
    if (epilogue.accumulate) read_part(epilogue, epilogue.wide_sum, epilogue.sum, row, me, j, grad);
    if (OUT || epilogue.accumulate) load(to, me.n[j], S::WHOLE, products);
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) {
      const float s = OUT ? g.positive[j][i] : g.sum[j][i];
      grad[i] += node.score[j][i] * s + (OUT ? g.sum[j][i] : 0);
      products[i] += node.own[j][i] * s;
    }
    store(to, me.n[j], S::WHOLE, products);
    if (finished)
      write_vector(epilogue, epilogue.sum, row, me, j, grad);
    else
      write_part(epilogue, epilogue.wide_sum, epilogue.sum, row, me, j, grad);
  }
}

/* PIECES: rows are long ones, whose pieces are added up; else row segments, whose arcs are. A row's own arc
 * is added by its last part. */
template <class S, bool PIECES>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    dynamic_kernel(const __grid_constant__ struct attention_sums op,
                   const __grid_constant__ struct attention_epilogue epilogue,
                   const __grid_constant__ struct dynamic_ends ends) {
  const struct row_work work = work_of<PIECES>(op, (int)threadIdx.x / S::LANES, S::ROW_SEGMENTS);
  const int32_t panels = S::FITS ? 1 : (op.each + S::PANEL - 1) / S::PANEL, row = work.row;
  const bool whole = work.there && (PIECES || work.segment.target >= 0);
  const struct dynamic_others others = {op.x, ends.right, op.stats, op.col_id},
                              self = {epilogue.self, ends.right, op.stats, op.dropout.id};
  const uint32_t epoch = op.scalars->epoch;
  const int64_t row_id = op.dropout.threshold > 0 ? __ldg(op.dropout.id + row) : 0;
  for (int32_t panel = 0; panel < panels; panel++) {
    struct stand<S> me;
    struct dynamic_node<S> node;
    struct gathered<S> g;
    stand_at(op, S::SINGLE ? panel : (int32_t)blockIdx.y, me);
    read_node(op, epilogue, ends, row, me, node);
    clear(g);
    if constexpr (PIECES)
      sum_pieces(op, work, me, g);
    else
      sum_arcs(op, others, work.segment, me, node, epoch, row_id, g);
    if (epilogue.selves > 0)
      add_arcs<S, 1>(op, self, me, node, whole && row < epilogue.selves ? 1 : 0, row, 0, epoch, row_id, g);
    if (!work.there) continue;
    if (!whole)
      write_piece(op, ~work.segment.target, me, g);
    else if constexpr (S::FORWARDS)
      epilogue_forward(op, epilogue, row, panel + 1 == panels, me, g);
    else
      end_backward(epilogue, ends, row, me, node, g);
  }
}

template <class S> static int run_shape(struct kernels *k, const struct attention_task *task) {
  struct attention_sums op = task->sums;
  if (!S::FITS) op.long_rows.talls = 0; /* a piece's maximum and total serve all panels */
  const unsigned panels = S::SINGLE ? (unsigned)op.heads : blocks_of(op.width, S::PANEL);
  const dim3 grid(blocks_of(op.row_segments, S::ROW_SEGMENTS), panels),
      rest(blocks_of_long_rows(op.long_rows, S::ROW_SEGMENTS), panels);
  dynamic_kernel<S, false><<<grid, S::THREADS, 0, cuda_stream(k)>>>(op, task->epilogue, task->ends);
  TRY_LAUNCH();
  if (op.long_rows.count == 0) return OK;
  dynamic_kernel<S, true><<<rest, S::THREADS, 0, cuda_stream(k)>>>(op, task->epilogue, task->ends);
  TRY_LAUNCH();
  return OK;
}

/* FITS, SINGLE, columns of a vector, vectors of a lane, lanes, arcs under way, blocks on a multiprocessor. A
 * panel that is not SINGLE has one head, which need not fill it, or several of a power of two of vectors. */
template <class T, dynamic_pass PASS>
static int run_pass(struct kernels *k, const struct attention_task *task) {
  constexpr bool OUT = PASS == dynamic_pass::OUT, NARROW = sizeof(T) < sizeof(float);
  constexpr int WIDE = 16 / (int)sizeof(T), MANY = OUT || (NARROW && PASS == dynamic_pass::IN) ? 2 : 3;
  const int64_t heads = task->sums.heads, vectors = (task->sums.each + WIDE - 1) / WIDE; /* of a head */
  const bool in_panels = task->wide && vectors <= 32 && (heads == 1 || (vectors & (vectors - 1)) == 0);
#define USE(...) return run_shape<dynamic_shape<T, PASS, __VA_ARGS__>>(k, task)
  if (in_panels && vectors * heads <= 8) USE(true, false, WIDE, 1, 8, 4, MANY);
  if (in_panels && vectors * heads <= 16) USE(true, false, WIDE, 1, 16, 4, MANY);
  if (in_panels) USE(true, false, WIDE, 1, 32, 4, MANY);
  if (task->wide && vectors <= 64) USE(true, true, WIDE, 2, 32, 2, OUT && NARROW ? 1 : 2);
  if (task->sums.each <= 64) USE(true, true, 1, 2, 32, 4, MANY);
  USE(false, true, 1, 4, 32, 2, 2);
#undef USE
}

#endif
