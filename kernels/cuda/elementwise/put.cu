/* Rows into the memory of other GPUs; see struct put. Few blocks, for what is computed beside them needs the
 * multiprocessors more than the links do, and many rows of each under way. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/elementwise/elementwise_ops.h"

constexpr int THREADS = 512;
constexpr int ROWS = 8;            /* of a thread, under way together */
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
  const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);
  bool came = true;
  __syncthreads();
  for (int p = thread; p < op.peers; p += THREADS) tell(op.peer[p].signal_to + blockIdx.x, turn);
  for (int p = thread; p < op.peers; p += THREADS)
    came &= wait_for(op.peer[p].signal_from + blockIdx.x, turn, op.ended);
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

/* Rows i, i + step, ... of a peer. V: what is stored at once, T or 16 bytes of them. */
template <class T, class V>
static __device__ __forceinline__ void put_rows(const struct put &op, const struct put_peer &peer, int64_t i,
                                                int64_t step) {
  constexpr int WIDE = (int)(sizeof(V) / sizeof(T));
  int row[ROWS];
  float scale[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int64_t at = i + r * step;
    row[r] = at >= peer.end ? -1 : op.rows ? op.rows[at] : (int)at;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) scale[r] = op.scale && row[r] >= 0 ? ((const float *)op.scale)[row[r]] : 1;
  const struct tensor to = {peer.to + op.column * (int64_t)sizeof(T), op.x.dtype, 0, op.x.cols, op.stride};
  for (int64_t j = threadIdx.x * WIDE; j < op.x.cols; j += blockDim.x * WIDE) {
    V bytes[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      if (row[r] >= 0) bytes[r] = *(const V *)place_of<T>(op.x, row[r], j);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      if (row[r] < 0) continue;
      if constexpr (WIDE > 1) {
        if (op.scale) scale_row<T>(bytes[r], scale[r]);
      } else {
        bytes[r] = (T)((float)bytes[r] * scale[r]);
      }
      *(V *)place_of<T>(to, peer.first + i - peer.begin + r * step, j) = bytes[r];
    }
  }
}

/* Each block begins with another peer: all links are in use from the first row on. */
template <class T, class V>
static __global__ void __launch_bounds__(THREADS) put_kernel(const __grid_constant__ struct put op) {
  const uint32_t turn = op.turn[blockIdx.x];
  const int64_t step = (int64_t)gridDim.x * blockDim.y;
  if (!meet(op, turn + 1)) return;
  for (int p = 0; p < op.peers; p++) {
    const struct put_peer peer = op.peer[(p + blockIdx.x) % (unsigned)op.peers];
    for (int64_t i = peer.begin + blockIdx.x * (int64_t)blockDim.y + threadIdx.y; i < peer.end;
         i += ROWS * step)
      put_rows<T, V>(op, peer, i, step);
  }
  if (!meet(op, turn + 2)) return;
  if (threadIdx.x == 0 && threadIdx.y == 0) op.turn[blockIdx.x] = turn + 2;
}

template <class T, class V> static int launch(struct kernels *k, const struct put *op) {
  unsigned lanes = 1;
  while (lanes < 32 && (int64_t)(lanes * sizeof(V)) < op->x.cols * (int64_t)sizeof(T)) lanes *= 2;
  const dim3 block(lanes, THREADS / lanes);
  put_kernel<T, V><<<PUT_BLOCKS, block, 0, device_cuda_stream(k->device, STREAM_EXCHANGE)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

template <class T> static int launch(struct kernels *k, const struct put *op) {
  const bool wide = cuda_is_aligned(op->x) && op->stride * (int64_t)sizeof(T) % 16 == 0 &&
                    op->column * (int64_t)sizeof(T) % 16 == 0;
  return wide ? launch<T, uint4>(k, op) : launch<T, T>(k, op);
}

int cuda_put(struct kernels *k, const struct put *op) {
  return op->x.dtype == BF16 ? launch<bf16>(k, op) : launch<float>(k, op);
}
