/* y_v = reduction of x_u over the entries of row v; see kernels/ops/reduce.h. A kernel for each reducer. */
#include "kernels/cuda/spmm/reduce.cuh"
#include "kernels/cuda/spmm/spmm_ops.h"

/* The expressions of REDUCERS. */
template <int> struct reducer_of;
#define REDUCER(NAME, CHOOSES, START, STEP, END)                                           \
  template <> struct reducer_of<REDUCER_##NAME> {                                          \
    static constexpr bool chooses = CHOOSES;                                               \
    static __device__ __forceinline__ float start() { return (float)(START); }             \
    static __device__ __forceinline__ auto step(float a, float x) { return STEP; }         \
    static __device__ __forceinline__ float end(float a, float n) { return (void)n, END; } \
  };
REDUCERS(REDUCER)
#undef REDUCER

struct reduction {
  struct gathered row_segments;
  const int64_t *col_id, *id;
  const float *self_scale, *entries;
  struct rows self;
  bool self_whole;
  struct results results;
  struct winner_rows winner;
};

/* What a thread has of a row so far. */
template <class R, int WIDE> struct state {
  float value[WIDE];
  int winner[R::chooses ? WIDE : 1];
};

template <class R, int WIDE> static __device__ __forceinline__ void begin(struct state<R, WIDE> &s) {
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    s.value[i] = R::start();
    if constexpr (R::chooses) s.winner[i] = NO_WINNER;
  }
}

/* One more entry, whose column i comes from node id[i % IDS]. */
template <class R, int WIDE, int IDS>
static __device__ __forceinline__ void take(struct state<R, WIDE> &s, const float (&x)[WIDE],
                                            const int (&id)[IDS]) {
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    if constexpr (R::chooses) {
      const bool takes = R::step(s.value[i], x[i]) || (x[i] == s.value[i] && id[i % IDS] < s.winner[i]);
      s.value[i] = takes ? x[i] : s.value[i];
      s.winner[i] = takes ? id[i % IDS] : s.winner[i];
    } else {
      s.value[i] = R::step(s.value[i], x[i]);
    }
  }
}

/* The row's own entry, what is there already, and the end. */
template <class T, class R, int WIDE>
static __device__ __forceinline__ void finish(const struct reduction &op, int32_t row, int32_t col, int n,
                                              struct state<R, WIDE> &s) {
  const struct results &r = op.results;
  float x[WIDE];
  if (op.self_scale && op.self_scale[row] != 0) {
    const int id[1] = {R::chooses ? (int)op.id[row] : 0};
    load(at<T>(op.self, row, col), n, op.self_whole, x);
    take(s, x, id);
  }
  if (r.accumulate) {
    int id[R::chooses ? WIDE : 1] = {};
    load(at<float>(r.sums, row, col), n, r.whole, x);
    if constexpr (R::chooses) read_winners(at(op.winner, row, col), n, false, id);
    take(s, x, id);
  }
  const bool done = is_done(r, row);
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    if (!done) continue;
    s.value[i] = R::end(s.value[i], op.entries ? op.entries[row] : 0);
    if constexpr (R::chooses) s.value[i] = s.winner[i] == NO_WINNER ? 0 : s.value[i];
  }
  if (done)
    write_result<T>(r, row, col, n, s.value);
  else
    store(at<float>(r.sums, row, col), n, r.whole, s.value);
  if constexpr (R::chooses) write_winners(at(op.winner, row, col), n, op.winner.whole, s.winner);
}

constexpr int AHEAD = 4; /* rows of x under way */

/* The entries of a row segment; by the whole warp together. */
template <class T, class R, int LANES, int WIDE>
static __device__ __forceinline__ void
take_row_segment(const struct reduction &op, const struct row_segment &row_segment,
                 const struct stand<LANES> &me, struct state<R, WIDE> &s) {
  const int longest = __reduce_max_sync(~0u, row_segment.count);
  for (int first = 0; first < longest; first += LANES) {
    const int mine = min(first + me.lane, row_segment.count - 1);
    const int c = row_segment.count > 0 ? op.row_segments.col[row_segment.first + mine] : 0;
    const int id = R::chooses && row_segment.count > 0 ? (int)op.col_id[c] : 0;
#pragma unroll 1
    for (int b = 0; b < LANES && first + b < longest; b += AHEAD) {
      float x[AHEAD][WIDE];
      int from[AHEAD][1];
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const int other = __shfl_sync(~0u, c, b + u, LANES);
        from[u][0] = R::chooses ? __shfl_sync(~0u, id, b + u, LANES) : 0;
        load(at<T>(op.row_segments.x, other, me.from), op.row_segments.whole ? WIDE : me.n,
             op.row_segments.whole, x[u]);
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        if (first + b + u < row_segment.count) take(s, x[u], from[u]);
      }
    }
  }
}

template <class T, class R, int LANES>
static __global__ void __launch_bounds__(BLOCK) reduce_kernel(const __grid_constant__ struct reduction op) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const struct stand<LANES> me = stand_of<LANES, WIDE>(op.row_segments);
  struct row_segment row_segment = {0, 0, 0};
  struct state<R, WIDE> s;
  if (me.at < op.row_segments.count) row_segment = read_row_segment(op.row_segments.row_segment, me.at);
  begin(s);
  take_row_segment<T>(op, row_segment, me, s);
  if (me.at >= op.row_segments.count || me.n == 0) return;
  if (row_segment.target >= 0) return finish<T>(op, row_segment.target, me.col, me.n, s);
  const int64_t piece = ~row_segment.target * op.row_segments.stride + me.col;
  store(op.row_segments.partial + piece, WIDE, true, s.value);
  if constexpr (R::chooses) write_winners(op.row_segments.partial_winner + piece, WIDE, true, s.winner);
}

/* One thread a column puts the pieces of a long row together. */
template <class T, class R>
static __global__ void __launch_bounds__(BLOCK)
    reduce_long_rows_kernel(const struct long_row *rows, int64_t count,
                            const __grid_constant__ struct reduction op) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= count) return;
  const struct long_row row = rows[i];
  for (int32_t col = (int32_t)threadIdx.x; col < op.row_segments.width; col += (int32_t)blockDim.x) {
    struct state<R, 1> s;
    begin(s);
    for (int p = 0; p < row.pieces; p++) {
      const int64_t piece = (row.first_piece + p) * op.row_segments.stride + col;
      const float x[1] = {op.row_segments.partial[piece]};
      const int id[1] = {R::chooses ? op.row_segments.partial_winner[piece] : 0};
      take(s, x, id);
    }
    finish<T>(op, row.row, col, 1, s);
  }
}

template <class T, class R>
static int launch(struct kernels *k, const struct cuda_layout *a, const struct reduction &op) {
  const int lanes = lanes_of_vectors(op.row_segments.vectors);
  auto *kernel = lanes == 4    ? reduce_kernel<T, R, 4>
                 : lanes == 8  ? reduce_kernel<T, R, 8>
                 : lanes == 16 ? reduce_kernel<T, R, 16>
                               : reduce_kernel<T, R, 32>;
  kernel<<<grid_of_row_segments(op.row_segments, lanes), BLOCK, 0, cuda_stream(k)>>>(op);
  TRY_LAUNCH();
  if (a->long_rows == 0) return OK;
  const dim3 block(32, BLOCK / 32);
  reduce_long_rows_kernel<T, R>
      <<<blocks_of(a->long_rows, block.y), block, 0, cuda_stream(k)>>>(a->long_row, a->long_rows, op);
  TRY_LAUNCH();
  return OK;
}

template <class T>
static int launch_reducer(struct kernels *k, enum reducer reducer, const struct cuda_layout *a,
                          const struct reduction &op) {
  typedef int launcher(struct kernels *, const struct cuda_layout *, const struct reduction &);
#define REDUCER(NAME, CHOOSES, START, STEP, END) launch<T, reducer_of<REDUCER_##NAME>>,
  static launcher *const launchers[REDUCER_COUNT] = {REDUCERS(REDUCER)};
#undef REDUCER
  return launchers[reducer](k, a, op);
}

int cuda_reduce(struct kernels *k, const struct reduce *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const enum dtype dtype = op->x.dtype;
  const int64_t wide = 16 / dtype_bytes(dtype);
  void *workspace = NULL;
  if (op->y.cols == 0 || a->row_segments == 0) return OK;
  struct reduction r = {};
  r.row_segments = row_segments_of(a, op->x);
  TRY(kernels_workspace(k, partial_bytes(a, r.row_segments, true), &workspace));
  place_partials(&r.row_segments, a, workspace);
  r.col_id = op->col_id;
  r.id = op->id;
  r.self_scale = (const float *)op->self_scale;
  r.entries = (const float *)op->entries;
  r.self = rows_of(op->self);
  r.self_whole = holds_vectors(op->self, wide);
  r.results = results_of(op->y, op->sums, op->accumulate, op->has_halo, dtype);
  r.winner = winner_rows_of(op->winner, op->y.cols, wide);
  return dtype == BF16 ? launch_reducer<bf16>(k, op->reducer, a, r)
                       : launch_reducer<float>(k, op->reducer, a, r);
}
