/* dx_u = sum of dy_v where u won in row v; see struct reduce_backward. Of a row of dy only the vectors in
 * which u won something are read: most winners are others. */
#include "kernels/cuda/spmm/reduce.cuh"
#include "kernels/cuda/spmm/spmm_ops.h"

struct won {
  struct gathered row_segments; /* of dy */
  const int32_t *piece_row;     /* of the layout */
  struct winner_rows winner, self_winner;
  struct rows self;
  bool self_whole;
  const int64_t *id;
  struct results results;
};

constexpr int AHEAD = 4; /* rows of winners under way */

template <int WIDE> static __device__ __forceinline__ bool has_won(const int (&winner)[WIDE], int id) {
  bool won = false;
#pragma unroll
  for (int i = 0; i < WIDE; i++) won |= winner[i] == id;
  return won;
}

/* sum += dy where id has won; `winner` is of the same columns. */
template <class T, int WIDE>
static __device__ __forceinline__ void add_won(const T *dy, int n, bool whole, const int (&winner)[WIDE],
                                               int id, float (&sum)[WIDE]) {
  float x[WIDE];
  if (!has_won(winner, id)) return;
  load(dy, n, whole, x);
#pragma unroll
  for (int i = 0; i < WIDE; i++) sum[i] += winner[i] == id ? x[i] : 0;
}

template <class T, int WIDE>
static __device__ __forceinline__ void finish(const struct won &op, int32_t row, int32_t col, int n,
                                              float (&sum)[WIDE]) {
  const struct results &r = op.results;
  if (op.self.data) {
    int winner[WIDE];
    read_winners(at(op.self_winner, row, col), n, false, winner);
    add_won(at<T>(op.self, row, col), n, op.self_whole, winner, (int)op.id[row], sum);
  }
  if (r.accumulate) {
    float x[WIDE];
    load(at<float>(r.sums, row, col), n, r.whole, x);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += x[i];
  }
  if (is_done(r, row))
    write_result<T>(r, row, col, n, sum);
  else
    store(at<float>(r.sums, row, col), n, r.whole, sum);
}

/* The entries of a row segment; by the whole warp together. */
template <class T, int LANES, int WIDE>
static __device__ __forceinline__ void gather_row_segment(const struct won &op,
                                                          const struct row_segment &row_segment, int id,
                                                          const struct stand<LANES> &me, float (&sum)[WIDE]) {
  const int longest = __reduce_max_sync(~0u, row_segment.count);
  for (int first = 0; first < longest; first += LANES) {
    const int mine = min(first + me.lane, row_segment.count - 1);
    const int c = row_segment.count > 0 ? op.row_segments.col[row_segment.first + mine] : 0;
#pragma unroll 1
    for (int b = 0; b < LANES && first + b < longest; b += AHEAD) {
      int winner[AHEAD][WIDE], row[AHEAD];
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        row[u] = __shfl_sync(~0u, c, b + u, LANES);
        read_winners(at(op.winner, row[u], me.from), me.n, op.winner.whole, winner[u]);
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        if (first + b + u < row_segment.count)
          add_won(at<T>(op.row_segments.x, row[u], me.from), me.n, op.row_segments.whole, winner[u], id, sum);
      }
    }
  }
}

template <class T, int LANES>
static __global__ void __launch_bounds__(BLOCK)
    reduce_backward_kernel(const __grid_constant__ struct won op) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const struct stand<LANES> me = stand_of<LANES, WIDE>(op.row_segments);
  struct row_segment row_segment = {0, 0, 0};
  float sum[WIDE] = {};
  if (me.at < op.row_segments.count) row_segment = read_row_segment(op.row_segments.row_segment, me.at);
  const int id = (int)op.id[row_segment.target >= 0 ? row_segment.target : op.piece_row[~row_segment.target]];
  gather_row_segment<T>(op, row_segment, id, me, sum);
  if (me.at >= op.row_segments.count || me.n == 0) return;
  if (row_segment.target >= 0) return finish<T>(op, row_segment.target, me.col, me.n, sum);
  store(op.row_segments.partial + ~row_segment.target * op.row_segments.stride + me.col, WIDE, true, sum);
}

/* One thread a column adds the pieces of a long row. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    add_long_rows_kernel(const struct long_row *rows, int64_t count, const __grid_constant__ struct won op) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= count) return;
  const struct long_row row = rows[i];
  for (int32_t col = (int32_t)threadIdx.x; col < op.row_segments.width; col += (int32_t)blockDim.x) {
    const float *piece = op.row_segments.partial + row.first_piece * op.row_segments.stride + col;
    double total = 0;
    for (int p = 0; p < row.pieces; p++) total += (double)piece[p * op.row_segments.stride];
    float sum[1] = {(float)total};
    finish<T>(op, row.row, col, 1, sum);
  }
}

template <class T> static int launch(struct kernels *k, const struct cuda_layout *a, const struct won &op) {
  const int lanes = lanes_of_vectors(op.row_segments.vectors);
  auto *kernel = lanes == 4    ? reduce_backward_kernel<T, 4>
                 : lanes == 8  ? reduce_backward_kernel<T, 8>
                 : lanes == 16 ? reduce_backward_kernel<T, 16>
                               : reduce_backward_kernel<T, 32>;
  kernel<<<grid_of_row_segments(op.row_segments, lanes), BLOCK, 0, cuda_stream(k)>>>(op);
  TRY_LAUNCH();
  if (a->long_rows == 0) return OK;
  const dim3 block(32, BLOCK / 32);
  add_long_rows_kernel<T>
      <<<blocks_of(a->long_rows, block.y), block, 0, cuda_stream(k)>>>(a->long_row, a->long_rows, op);
  TRY_LAUNCH();
  return OK;
}

int cuda_reduce_backward(struct kernels *k, const struct reduce_backward *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const enum dtype dtype = op->dy.dtype;
  const int64_t wide = 16 / dtype_bytes(dtype), cols = op->dx.cols;
  void *workspace = NULL;
  if (cols == 0 || a->row_segments == 0) return OK;
  struct won w = {};
  w.row_segments = row_segments_of(a, op->dy);
  TRY(kernels_workspace(k, partial_bytes(a, w.row_segments, false), &workspace));
  place_partials(&w.row_segments, a, workspace);
  w.piece_row = a->piece_row;
  w.winner = winner_rows_of(op->winner, cols, wide);
  w.self_winner = winner_rows_of(op->self_winner, cols, wide);
  w.self = rows_of(op->self);
  w.self_whole = holds_vectors(op->self, wide);
  w.id = op->id;
  w.results = results_of(op->dx, op->sums, op->accumulate, op->has_halo, dtype);
  return dtype == BF16 ? launch<bf16>(k, a, w) : launch<float>(k, a, w);
}
