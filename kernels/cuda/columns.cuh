/* Walks over a matrix in groups of eight columns: what one call of Philox serves. A row belongs to `lanes`
 * neighbouring threads of a warp (a power of two), lane l of which takes the groups l, l + lanes, ... */
#ifndef KERNELS_CUDA_COLUMNS_CUH
#define KERNELS_CUDA_COLUMNS_CUH

#include <cuda_bf16.h>

#include "kernels/cuda/cuda.h"

typedef __nv_bfloat16 bf16;

constexpr int GROUP = 8;
constexpr int BLOCK = 256;

/* Threads for a row of that many columns. */
static inline unsigned lanes_of(int64_t cols) {
  unsigned lanes = 1;
  while (lanes < 32 && (int64_t)lanes * GROUP < cols) lanes *= 2;
  return lanes;
}

/* A block: threadIdx.x is the lane, threadIdx.y the row. */
static inline dim3 block_of(int64_t cols) {
  unsigned lanes = lanes_of(cols);
  return dim3(lanes, BLOCK / lanes);
}

static inline unsigned blocks_of(int64_t items, int64_t per_block) {
  return (unsigned)((items + per_block - 1) / per_block);
}

/* Row v of a matrix of T. */
template <class T = float> static __device__ __forceinline__ T *row_of(const struct tensor &t, int64_t v) {
  return (T *)t.data + v * t.stride;
}

/* Columns [0, n) of `from`, n <= COUNT; the others become 0. aligned: whole groups by 16 bytes. */
template <int COUNT>
static __device__ __forceinline__ void load(const float *from, int n, bool aligned, float (&to)[COUNT]) {
  if (COUNT % 4 == 0 && aligned && n == COUNT) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
      float4 four = *(const float4 *)(from + i);
      to[i] = four.x, to[(i + 1) % COUNT] = four.y, to[(i + 2) % COUNT] = four.z,
      to[(i + 3) % COUNT] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[i] = i < n ? from[i] : 0;
  }
}

template <int COUNT>
static __device__ __forceinline__ void store(float *to, int n, bool aligned, const float (&from)[COUNT]) {
  if (COUNT % 4 == 0 && aligned && n == COUNT) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4)
      *(float4 *)(to + i) = make_float4(from[i], from[(i + 1) % COUNT], from[(i + 2) % COUNT],
                                        from[(i + 3) % COUNT]);
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      if (i < n) to[i] = from[i];
    }
  }
}

/* The same for bf16, which is rounded to nearest even; eight columns make 16 bytes. */
template <int COUNT>
static __device__ __forceinline__ void load(const bf16 *from, int n, bool aligned, float (&to)[COUNT]) {
  if (COUNT % 8 == 0 && aligned && n == COUNT) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 8) {
      const uint4 eight = *(const uint4 *)(from + i);
      const uint32_t word[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
      for (int j = 0; j < 8; j++)
        to[(i + j) % COUNT] = __uint_as_float(j % 2 ? word[j / 2] & 0xFFFF0000u : word[j / 2] << 16);
    }
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[i] = i < n ? __bfloat162float(from[i]) : 0;
  }
}

template <int COUNT>
static __device__ __forceinline__ void store(bf16 *to, int n, bool aligned, const float (&from)[COUNT]) {
  if (COUNT % 8 == 0 && aligned && n == COUNT) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 8) {
      __nv_bfloat162 pair[4];
#pragma unroll
      for (int j = 0; j < 4; j++)
        pair[j] = __floats2bfloat162_rn(from[(i + 2 * j) % COUNT], from[(i + 2 * j + 1) % COUNT]);
      *(uint4 *)(to + i) = *(const uint4 *)pair;
    }
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      if (i < n) to[i] = __float2bfloat16(from[i]);
    }
  }
}

/* The lanes of this thread's row as a mask of its warp: rows of one warp may part ways. */
static __device__ __forceinline__ unsigned row_mask() {
  unsigned all = blockDim.x == 32 ? ~0u : (1u << blockDim.x) - 1;
  return all << (threadIdx.y * blockDim.x % 32);
}

/* Sum over the lanes of a row, the same in each. */
static __device__ __forceinline__ float sum_of_lanes(float x) {
  const unsigned mask = row_mask();
  for (unsigned o = 1; o < blockDim.x; o *= 2) x += __shfl_xor_sync(mask, x, o);
  return x;
}

static __device__ __forceinline__ float max_of_lanes(float x) {
  const unsigned mask = row_mask();
  for (unsigned o = 1; o < blockDim.x; o *= 2) x = fmaxf(x, __shfl_xor_sync(mask, x, o));
  return x;
}

/* The four words of Philox that belong to columns [first, first + 8) of node `id`; first is a multiple of 8.
 */
static __device__ __forceinline__ struct philox_block dropout_bits(const struct dropout &op, uint32_t epoch,
                                                                   int64_t id, int64_t first) {
  struct philox_block counter = {
      {(uint32_t)id, (uint32_t)((uint64_t)id >> 32), (uint32_t)(first / GROUP), epoch}};
  return philox(counter, op.key);
}

/* Whether column j of eight is kept, from its group's words. */
static __device__ __forceinline__ bool is_kept(const struct dropout &op, const struct philox_block &bits,
                                               int j) {
  uint32_t word = bits.word[j / 2];
  return (j % 2 ? word >> 16 : word & 0xFFFF) >= op.threshold;
}

/* Dropout of the group of columns that begins at `first`. */
static __device__ __forceinline__ void drop(const struct dropout &op, uint32_t epoch, int64_t v,
                                            int64_t first, float (&x)[GROUP]) {
  struct philox_block bits = dropout_bits(op, epoch, op.id[v], first);
#pragma unroll
  for (int j = 0; j < GROUP; j++) x[j] = is_kept(op, bits, j) ? x[j] * op.scale : 0;
}

#define LEAKY_SLOPE 0.01f

/* act(n); a NaN stays one. */
static __device__ __forceinline__ float activated(enum activation activation, float n) {
  if (activation == ACTIVATION_NONE || !(n < 0)) return n;
  return activation == ACTIVATION_RELU ? 0 : activation == ACTIVATION_ELU ? expm1f(n) : LEAKY_SLOPE * n;
}

#endif
