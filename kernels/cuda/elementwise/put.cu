/* Rows into the memory of other GPUs; see struct put. Few blocks, for what is computed beside them needs the
 * multiprocessors more than the links do, and many pieces of each under way. */
#include <algorithm>

#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int THREADS = 512;
constexpr int PIECES = 8;          /* of a thread, under way together */
constexpr unsigned PATIENCE = 256; /* looks at what a peer says between two at whether it comes at all */

/* Everything that was stored before by this block is there for who sees it. */
static __device__ __forceinline__ void tell(uint32_t *counter, uint32_t turn) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(counter), "r"(turn) : "memory");
}

static __device__ __forceinline__ uint32_t told(const uint32_t *counter) {
  uint32_t turn;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(turn) : "l"(counter) : "memory");
  return turn;
}

static __device__ bool wait_for(const uint32_t *counter, uint32_t turn, const volatile int *ended) {
  for (unsigned looks = 1; (int32_t)(told(counter) - turn) < 0; looks++) {
    if (looks % PATIENCE == 0 && *ended) return false;
  }
  return true;
}

/* This block has come to `turn`, and those of all peers have; false: some will not. */
static __device__ bool meet(const struct put &op, uint32_t turn) {
  bool came = true;
  __syncthreads();
  for (int p = (int)threadIdx.x; p < op.peers; p += THREADS)
    if (op.peer[p].signal_to) tell(op.peer[p].signal_to + blockIdx.x, turn);
  for (int p = (int)threadIdx.x; p < op.peers; p += THREADS)
    if (op.peer[p].signal_to) came &= wait_for(op.peer[p].signal_from + blockIdx.x, turn, op.ended);
  return __syncthreads_and(came);
}

template <class T> static __device__ __forceinline__ void scale_row(uint4 &bytes, float scale) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  float x[WIDE];
  load((const T *)&bytes, WIDE, true, x);
#pragma unroll
  for (int u = 0; u < WIDE; u++) x[u] *= scale;
  store((T *)&bytes, WIDE, true, x);
}

/* A thread's share of a grid-stride loop over the pieces of a matrix, row by row: the first of them, then
 * every step-th. pieces: of a row. So all threads have work, however long a row is. */
struct walk {
  int row, piece, rows_on, pieces_on, pieces;

  __device__ __forceinline__ walk(int first, int step, int pieces)
      : row(first / pieces), piece(first % pieces), rows_on(step / pieces), pieces_on(step % pieces),
        pieces(pieces) {}

  __device__ __forceinline__ void next() {
    row += rows_on;
    piece += pieces_on;
    if (piece >= pieces) {
      piece -= pieces;
      row++;
    }
  }
};

/* The next pieces of the rows for a peer. V: a piece, T or 16 bytes of them. */
template <class T, class V>
static __device__ __forceinline__ void put_pieces(const struct put &op, const struct put_peer &peer, int rows,
                                                  struct walk &at) {
  constexpr int WIDE = (int)(sizeof(V) / sizeof(T));
  const struct tensor to = {peer.to, op.x.dtype, 0, op.x.cols, op.stride};
  struct walk ahead = at;
  int row[PIECES];
  float scale[PIECES];
  V bytes[PIECES];
#pragma unroll
  for (int u = 0; u < PIECES; u++, ahead.next())
    row[u] = ahead.row >= rows ? -1 : op.rows ? op.rows[peer.begin + ahead.row] : (int)peer.begin + ahead.row;
  ahead = at;
#pragma unroll
  for (int u = 0; u < PIECES; u++, ahead.next()) {
    scale[u] = op.scale && row[u] >= 0 ? ((const float *)op.scale)[row[u]] : 1;
    if (row[u] >= 0) bytes[u] = *(const V *)place_of<T>(op.x, row[u], ahead.piece * WIDE);
  }
#pragma unroll
  for (int u = 0; u < PIECES; u++, at.next()) {
    if (row[u] < 0) continue;
    if constexpr (WIDE > 1) {
      if (op.scale) scale_row<T>(bytes[u], scale[u]);
    } else {
      bytes[u] = (T)((float)bytes[u] * scale[u]);
    }
    *(V *)place_of<T>(to, peer.first + at.row, at.piece * WIDE) = bytes[u];
  }
}

/* Groups of blocks, which store rows for other peers at the same time. One, where an average peer's rows give
 * every thread of all blocks PIECES to have under way; more where many peers have few rows each. */
static int groups_of(const struct put *op, int64_t pieces) {
  const int64_t full = (int64_t)op->peers * THREADS * PIECES; /* one block for each peer */
  const int64_t blocks = std::max((op->stored * pieces + full - 1) / full, (int64_t)1);
  return (int)std::max(std::min((int64_t)op->peers, op->blocks / blocks), (int64_t)1);
}

/* Each block begins with another peer of its group's, which are those each `groups` from the group's number
 * on: all links are in use from the first row on. */
template <class T, class V>
static __global__ void __launch_bounds__(THREADS)
    put_kernel(const __grid_constant__ struct put op, unsigned groups) {
  const uint32_t turn = op.turn[blockIdx.x];
  constexpr int WIDE = (int)(sizeof(V) / sizeof(T));
  const int pieces = (int)((op.x.cols + WIDE - 1) / WIDE);
  const unsigned group = blockIdx.x % groups, member = blockIdx.x / groups;
  const unsigned members = (gridDim.x - group - 1) / groups + 1, peers = (op.peers - group - 1) / groups + 1;
  if (!meet(op, turn + 1)) return;
  for (unsigned p = 0; p < peers; p++) {
    const struct put_peer peer = op.peer[group + (p + member) % peers * groups];
    const int rows = (int)(peer.end - peer.begin);
    struct walk at((int)(member * THREADS + threadIdx.x), (int)members * THREADS, pieces);
    while (at.row < rows) put_pieces<T, V>(op, peer, rows, at);
  }
  if (!meet(op, turn + 2)) return;
  if (threadIdx.x == 0) op.turn[blockIdx.x] = turn + 2;
}

template <class T, class V> static int launch(struct kernels *k, const struct put *op) {
  const cudaStream_t stream = device_cuda_stream(k->device, STREAM_STORES);
  constexpr int WIDE = (int)(sizeof(V) / sizeof(T));
  const int groups = groups_of(op, (op->x.cols + WIDE - 1) / WIDE);
  put_kernel<T, V><<<(unsigned)op->blocks, THREADS, 0, stream>>>(*op, (unsigned)groups);
  TRY_LAUNCH();
  return OK;
}

template <class T> static int launch(struct kernels *k, const struct put *op) {
  const bool wide = cuda_is_aligned(op->x) && op->stride * (int64_t)sizeof(T) % 16 == 0;
  return wide ? launch<T, uint4>(k, op) : launch<T, T>(k, op);
}

int cuda_put(struct kernels *k, const struct put *op) {
  return op->x.dtype == BF16 ? launch<bf16>(k, op) : launch<float>(k, op);
}
