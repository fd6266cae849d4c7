/* Y = diag(r) (B diag(t) B^T + diag(s)) diag(c) X in one kernel by blocks of vertices, see
 * kernels/format/edge_split.h: no sum of a hyperedge leaves the multiprocessor.
 *
 * In a round LANES threads sum a piece of a hyperedge from X in registers and put it into its slot of shared
 * memory, already times t where the hyperedge has no other; pieces of one hyperedge are then joined. LANES
 * threads add up the slots of a row's hyperedges and end the row. blockIdx.y is the panel of COLS columns.
 *
 * Bytes, a panel: a row of X and an id of 4 bytes for each vertex of each hyperedge of each block, from the
 * L2 cache or memory; 16 bytes a piece; 2 bytes an incidence; y once. */
#include "kernels/cuda/common/pdl.cuh"
#include "kernels/cuda/elementwise/epilogue.h"
#include "kernels/cuda/spmm/spmm_epilogue_of.cuh"
#include "kernels/cuda/spmm/spmm_ops.h"
#include "kernels/cuda/spmm/spmm_sum.cuh"

struct split_sums {
  struct edge_split cut;
  const int32_t *col;
  const float *col_scale, *edge_scale; /* NULL: 1 */
  const char *x;
  uint32_t x_bytes; /* from row to row */
};

/* WHOLE: rows of X hold whole vectors of 16 bytes at multiples of them. */
template <class T_, int COLS_, bool WHOLE_> struct split_shape {
  typedef T_ T;
  static constexpr bool WHOLE = WHOLE_;
  static constexpr int COLS = COLS_, WIDE = 16 / (int)sizeof(T), LANES = COLS / WIDE;
  static constexpr int AHEAD = WHOLE ? 4 : 2; /* rows under way */
};

constexpr int SPLIT_THREADS = 512; /* of a block; of one that has a multiprocessor alone twice as many */

/* Columns [0, n) of a vector of a row of X. */
template <class S>
static __device__ __forceinline__ void read_vector(const char *x, int n, float (&to)[S::WIDE]) {
  if constexpr (S::WHOLE) {
    const uint4 v = __ldg((const uint4 *)x);
    const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) to[i] = column_of<typename S::T>(word, i);
  } else {
    load((const typename S::T *)x, n, false, to);
  }
}

static __device__ __forceinline__ struct split_piece piece_at(const struct split_sums &op,
                                                              const struct split_round &round, int i) {
  if (i >= round.pieces) return {0, 0, -1};
  const int4 word = __ldg((const int4 *)(op.cut.piece + round.piece + i));
  return {(int64_t)((uint64_t)(uint32_t)word.x | (uint64_t)(uint32_t)word.y << 32), word.z, word.w};
}
static_assert(sizeof(struct split_piece) == 16, "a piece is one load");

/* sum += `count` rows of X, whose vector of this thread begins at x in the first row; AHEAD of them are under
 * way together. Behind the end the last one is read again and not added. */
template <class S>
static __device__ __forceinline__ void add_rows(const struct split_sums &op, const int32_t *col, int count,
                                                const char *x, int n, float (&sum)[S::WIDE]) {
#pragma unroll 1
  for (int at = 0; at < count; at += S::AHEAD) {
    uint32_t id[S::AHEAD];
    float factor[S::AHEAD], value[S::AHEAD][S::WIDE];
#pragma unroll
    for (int u = 0; u < S::AHEAD; u++) id[u] = (uint32_t)__ldg(col + min(at + u, count - 1));
#pragma unroll
    for (int u = 0; u < S::AHEAD; u++) {
      read_vector<S>(x + (uint64_t)id[u] * op.x_bytes, n, value[u]);
      factor[u] = op.col_scale ? __ldg(op.col_scale + id[u]) : 1;
    }
#pragma unroll
    for (int u = 0; u < S::AHEAD; u++) {
#pragma unroll
      for (int i = 0; i < S::WIDE; i++)
        sum[i] = at + u < count ? fmaf(factor[u], value[u][i], sum[i]) : sum[i];
    }
  }
}

/* slot += x, or = x where there is nothing yet. */
template <int WIDE>
static __device__ __forceinline__ void add_to_slot(float *slot, bool holds, float (&x)[WIDE]) {
  float there[WIDE];
  if (holds) {
    load(slot, WIDE, true, there);
#pragma unroll
    for (int j = 0; j < WIDE; j++) x[j] += there[j];
  }
  store(slot, WIDE, true, x);
}

/* Long sums lose digits: none has more than SEGMENT terms. slot: this thread's columns of the first one. */
template <class S>
static __device__ __forceinline__ void sum_pieces(const struct split_sums &op,
                                                  const struct split_round &round, int group, int groups,
                                                  const char *x, int n, float *slot) {
  constexpr int SEGMENT = 1024;
  struct split_piece next = piece_at(op, round, group);
#pragma unroll 1
  for (int i = group; i < round.pieces; i += groups) {
    const struct split_piece piece = next;
    next = piece_at(op, round, i + groups);
    const float scale = op.edge_scale && piece.edge >= 0 ? __ldg(op.edge_scale + piece.edge) : 1;
#pragma unroll 1
    for (int first = 0; first < piece.count; first += SEGMENT) {
      float sum[S::WIDE] = {};
      add_rows<S>(op, op.col + piece.first + first, min(SEGMENT, piece.count - first), x, n, sum);
#pragma unroll
      for (int j = 0; j < S::WIDE; j++) sum[j] *= scale;
      add_to_slot(slot + i * S::COLS, first > 0, sum);
    }
  }
}

/* Pieces of one hyperedge into the slot of the first, a thread a column. */
template <class S>
static __device__ __forceinline__ void join_pieces(const struct split_sums &op,
                                                   const struct split_round &round, float *slots) {
  const int col = (int)threadIdx.x % S::COLS;
#pragma unroll 1
  for (int j = (int)threadIdx.x / S::COLS; j < round.joins; j += (int)blockDim.x / S::COLS) {
    const struct split_join join = op.cut.join[round.join + j];
    float *at = slots + join.slot * S::COLS + col, sum = 0;
#pragma unroll 4
    for (int p = 0; p < join.pieces; p++) sum += at[p * S::COLS];
    at[0] = op.edge_scale ? sum * __ldg(op.edge_scale + join.edge) : sum;
  }
}

/* sum = the slots of the hyperedges that row i of the block has in this round. */
template <class S>
static __device__ __forceinline__ void sum_uses(const struct split_sums &op, const struct split_round &round,
                                                int i, const float *slot, float (&sum)[S::WIDE]) {
  const int32_t *range = op.cut.row_use + round.row_use + i;
  const uint16_t *use = op.cut.use + round.use;
  const int end = __ldg(range + 1);
#pragma unroll 4
  for (int u = __ldg(range); u < end; u++) {
    float more[S::WIDE];
    load(slot + (int)__ldg(use + u) * S::COLS, S::WIDE, true, more);
#pragma unroll
    for (int j = 0; j < S::WIDE; j++) sum[j] += more[j];
  }
}

template <class S>
static __global__ void __launch_bounds__(2 * SPLIT_THREADS)
    incidence_split_kernel(const __grid_constant__ struct split_sums op,
                           const __grid_constant__ struct spmm_epilogue epilogue) {
  extern __shared__ float4 memory[]; /* [slots + 1, COLS] */
  float *slots = (float *)memory;
  const int lane = (int)threadIdx.x % S::LANES, group = (int)threadIdx.x / S::LANES;
  const int groups = (int)blockDim.x / S::LANES;
  const int first = (int)blockIdx.y * S::COLS, col = first + lane * S::WIDE;
  const bool idle = col >= epilogue.width; /* it reads the first vector and writes nothing */
  const int from = idle ? first : col;
  const char *x = op.x + (int64_t)from * (int)sizeof(typename S::T);
  const struct split_block here = op.cut.block[blockIdx.x], behind = op.cut.block[blockIdx.x + 1];
  const int rows = (int)(behind.row - here.row);
  float *slot = slots + lane * S::WIDE;
  float *sums = slot + op.cut.slots * S::COLS; /* from round to round: only a single row has several */
  pdl_launch_dependents();
#pragma unroll 1
  for (int64_t r = here.round; r < behind.round; r++) {
    const struct split_round round = op.cut.round[r];
    const bool last = r + 1 == behind.round;
    sum_pieces<S>(op, round, group, groups, x, epilogue.width - from, slot);
    __syncthreads();
    if (round.joins > 0) {
      join_pieces<S>(op, round, slots);
      __syncthreads();
    }
#pragma unroll 1
    for (int i = group; i < rows; i += groups) {
      float sum[S::WIDE] = {};
      sum_uses<S>(op, round, i, slot, sum);
      if (r > here.round || !last) add_to_slot(sums, r > here.round, sum);
      if (idle || !last) continue;
      const int32_t row = op.cut.row ? __ldg(op.cut.row + here.row + i) : (int32_t)(here.row + i);
      epilogue_row<typename S::T>(epilogue, epilogue.whole, row, col, sum);
    }
    if (!last) __syncthreads();
  }
}

typedef void split_kernel(const struct split_sums, const struct spmm_epilogue);

template <class T> static split_kernel *choose(int cols, bool whole) {
  if (cols == 16)
    return whole ? incidence_split_kernel<split_shape<T, 16, true>>
                 : incidence_split_kernel<split_shape<T, 16, false>>;
  return whole ? incidence_split_kernel<split_shape<T, 32, true>>
               : incidence_split_kernel<split_shape<T, 32, false>>;
}

/* Shared memory of a block. */
static int shared_bytes_of(const struct edge_split *cut, int cols) {
  return (cut->slots + 1) * cols * (int)sizeof(float);
}

int cuda_is_split(const struct kernels *k, const struct incidence_sum *op) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const int64_t row = op->x.cols * dtype_bytes(op->x.dtype);
  return op->a->split.memory && !op->kept.data && incidence_form(op->a, row) == INCIDENCE_SPLIT &&
         shared_bytes_of(&op->a->split.cut, 16) <= state->shared_bytes;
}

static struct split_sums split_sums_of(const struct incidence_sum *op) {
  struct split_sums sums = {};
  sums.cut = op->a->split.cut;
  sums.col = op->a->split.col;
  sums.col_scale = (const float *)op->col_scale;
  sums.edge_scale = (const float *)op->edge_scale;
  sums.x = (const char *)op->x.data;
  sums.x_bytes = (uint32_t)(op->x.stride * dtype_bytes(op->x.dtype));
  return sums;
}

/* What comes behind the kernel: a norm of whole rows, and a loss. */
static int end_apart(struct kernels *k, const struct spmm *rows, bool fuses) {
  const struct epilogue *epilogue = rows->epilogue;
  if (!epilogue) return OK;
  if (!fuses) TRY(cuda_epilogue_rows(k, epilogue, NULL, rows->y.rows, rows->has_halo));
  return epilogue->loss ? cuda_cross_entropy_rows(k, epilogue->loss, NULL, rows->y.rows, rows->has_halo) : OK;
}

int cuda_split_sum(struct kernels *k, const struct incidence_sum *op, const struct spmm *rows) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct edge_split *cut = &op->a->split.cut;
  const bool whole = is_whole_or_absent(op->x, 16 / dtype_bytes(op->x.dtype));
  const bool fuses = op->epilogue && op->epilogue->norm == NORM_NONE;
  const int cols = op->x.cols <= 16 || shared_bytes_of(cut, 32) > state->shared_bytes ? 16 : 32;
  const int bytes = shared_bytes_of(cut, cols);
  const int threads = cut->slots > SPLIT_SLOTS_HALF ? 2 * SPLIT_THREADS : SPLIT_THREADS;
  const dim3 grid((unsigned)cut->count.blocks, blocks_of(op->x.cols, cols));
  const struct spmm_epilogue bare = spmm_epilogue_of(k, rows);
  split_kernel *kernel = op->x.dtype == BF16 ? choose<bf16>(cols, whole) : choose<float>(cols, whole);
  if (op->x.cols == 0 || cut->count.blocks == 0) return OK;
  TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, threads, bytes, cuda_stream(k)>>>(split_sums_of(op),
                                                   fuses ? with_epilogue(&bare, rows) : bare);
  TRY_LAUNCH();
  return end_apart(k, rows, fuses);
}
