/* Walks over a matrix in groups of eight columns: what one call of Philox serves. A row belongs to `lanes`
 * neighbouring threads of a warp (a power of two), lane l of which takes the groups l, l + lanes, ... */
#ifndef KERNELS_CUDA_COMMON_VEC_CUH
#define KERNELS_CUDA_COMMON_VEC_CUH

#include <cfloat>

#include "kernels/cuda/common/bf16.cuh"
#include "kernels/cuda/common/pdl.cuh"

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

/* Element (v, col) of a matrix of T. There are fewer than 2^31 rows of less than 2^32 bytes: one product. */
template <class T>
static __device__ __forceinline__ T *place_of(const struct tensor &t, int64_t v, int64_t col) {
  return (T *)((char *)t.data + col * (int64_t)sizeof(T) +
               (uint64_t)(uint32_t)v * (uint32_t)(t.stride * (int64_t)sizeof(T)));
}

template <class T = float> static __device__ __forceinline__ T *row_of(const struct tensor &t, int64_t v) {
  return place_of<T>(t, v, 0);
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
  } else if (COUNT == 8 && aligned) {
    float4 four = make_float4(from[0], from[1 % COUNT], from[2 % COUNT], from[3 % COUNT]);
    if (n & 4) {
      *(float4 *)to = four;
      four = make_float4(from[4 % COUNT], from[5 % COUNT], from[6 % COUNT], 0);
    }
    if (n & 2) *(float2 *)(to + (n & 4)) = make_float2(four.x, four.y);
    if (n & 1) to[n - 1] = n & 2 ? four.z : four.x;
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
    for (int i = 0; i < COUNT; i++) to[i] = i < n ? (float)from[i] : 0;
  }
}

template <int COUNT>
static __device__ __forceinline__ void store(bf16 *to, int n, bool aligned, const float (&from)[COUNT]) {
  if (COUNT % 8 == 0 && aligned && n == COUNT) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 8) {
      uint32_t pair[4];
#pragma unroll
      for (int j = 0; j < 4; j++)
        pair[j] = rounded_pair(from[(i + 2 * j) % COUNT], from[(i + 2 * j + 1) % COUNT]);
      *(uint4 *)(to + i) = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    }
  } else if (COUNT == 8 && aligned) {
    uint32_t two[3];
#pragma unroll
    for (int i = 0; i < 3; i++) two[i] = rounded_pair(from[2 * i % COUNT], from[(2 * i + 1) % COUNT]);
    if (n & 4) {
      *(uint2 *)to = make_uint2(two[0], two[1]);
      two[0] = two[2];
      two[1] = rounded_pair(from[6 % COUNT], 0);
    }
    if (n & 2) *(uint32_t *)(to + (n & 4)) = two[0];
    if (n & 1) to[n - 1].bits = (uint16_t)(n & 2 ? two[1] : two[0]);
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      if (i < n) to[i] = (bf16)from[i];
    }
  }
}

/* Rows of t hold whole groups, the last one filled up by the gap behind the row. */
static inline bool is_whole(const struct tensor &t) {
  return cuda_is_aligned(t) && t.stride >= (t.cols + GROUP - 1) / GROUP * GROUP;
}

static inline bool is_whole_or_absent(const struct tensor &t) {
  return !t.data || is_whole(t);
}

/* How many of the columns [first, first + GROUP) there are; none may be. */
static __device__ __forceinline__ int columns_from(int64_t cols, int64_t first) {
  return (int)max((int64_t)0, min((int64_t)GROUP, cols - first));
}

/* Whether t's rows are padded as tensor_stride pads them: then the gaps are its own. */
static __device__ __forceinline__ bool owns_gaps(const struct tensor &t) {
  return t.stride == tensor_stride(t.dtype, t.cols);
}

/* How many of the columns [first, first + GROUP) to store: with the gap they make one store. */
static __device__ __forceinline__ int stored_columns(const struct tensor &t, int64_t first) {
  const int n = columns_from(t.cols, first);
  return owns_gaps(t) && n > 0 ? GROUP : n;
}

/* Group of n > 0 columns of row v. WHOLE: every row is_whole; one load serves, and what it brings from the
 * gap is nobody's. */
template <class T, bool WHOLE>
static __device__ __forceinline__ void load_group(const struct tensor &t, int64_t v, int64_t first, int n,
                                                  float (&x)[GROUP]) {
  load(place_of<T>(t, v, first), WHOLE ? GROUP : n, WHOLE, x);
}

template <class T, bool WHOLE>
static __device__ __forceinline__ void store_group(const struct tensor &t, int64_t v, int64_t first, int n,
                                                   const float (&x)[GROUP]) {
  store(place_of<T>(t, v, first), n, WHOLE, x);
}

/* The same of reals, one for each column. */
static __device__ __forceinline__ void load_reals(const void *from, int64_t first, int n, float (&x)[GROUP]) {
  load((const float *)from + first, n, (uintptr_t)from % 16 == 0, x);
}

/* The row of the block at which this thread's warp begins: loops that count in it keep a warp together. */
static __device__ __forceinline__ int first_row_of_warp() {
  return (int)((threadIdx.y * blockDim.x / 32 * 32) / blockDim.x);
}

/* Sum over the lanes of a row, the same in each; by whole warps. */
static __device__ __forceinline__ float sum_of_lanes(float x) {
  for (unsigned o = 1; o < blockDim.x; o *= 2) x += __shfl_xor_sync(~0u, x, o);
  return x;
}

static __device__ __forceinline__ float max_of_lanes(float x) {
  for (unsigned o = 1; o < blockDim.x; o *= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, o));
  return x;
}

/* Philox's counter for columns [first, first + 8) of node `id`; first is a multiple of 8. */
static __device__ __forceinline__ struct philox_block
dropout_counter(const struct dropout &op, uint32_t epoch, int64_t id, int64_t first) {
  return {{(uint32_t)id, (uint32_t)((uint64_t)id >> 32), (uint32_t)(first / GROUP), epoch}};
}

/* The four words of Philox that belong to these. */
static __device__ __forceinline__ struct philox_block dropout_bits(const struct dropout &op, uint32_t epoch,
                                                                   int64_t id, int64_t first) {
  return philox(dropout_counter(op, epoch, id, first), op.key);
}

/* Whether column j of eight is kept, from its group's words. */
static __device__ __forceinline__ bool is_kept(const struct dropout &op, const struct philox_block &bits,
                                               int j) {
  const uint32_t word = bits.word[j / 2];
  return (j % 2 ? word : word * 65536u) >= op.threshold << 16;
}

/* Dropout of the group of columns of node `id` that begins at `first`. */
static __device__ __forceinline__ void drop(const struct dropout &op, uint32_t epoch, int64_t id,
                                            int64_t first, float (&x)[GROUP]) {
  struct philox_block bits = dropout_bits(op, epoch, id, first);
#pragma unroll
  for (int j = 0; j < GROUP; j++) x[j] = is_kept(op, bits, j) ? x[j] * op.scale : 0;
}

static __device__ __forceinline__ bool is_finite(float x) {
  return fabsf(x) <= FLT_MAX;
}

constexpr float LOG2_E = 1.44269504088896f;

/* 2^x, to a few parts in 10^7; tiny results are 0. */
static __device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* exp(x) for x <= 0, to a few parts in 10^7 of 1. */
static __device__ __forceinline__ float exponential(float x) {
  return exp2_of(x * LOG2_E);
}

#define LEAKY_SLOPE 0.01f

/* The larger one; a NaN stays one. */
static __device__ __forceinline__ float at_least(float n, float floor) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(n), "f"(floor));
  return y;
}

static __device__ __forceinline__ float relu(float n) {
  return at_least(n, 0);
}

/* act(n); a NaN stays one. */
static __device__ __forceinline__ float activated(enum activation activation, float n) {
  if (activation == ACTIVATION_RELU) return relu(n);
  if (activation == ACTIVATION_NONE || !(n < 0)) return n;
  return activation == ACTIVATION_ELU ? expm1f(n) : LEAKY_SLOPE * n;
}

/* x <- act(x), all elements alike. */
template <int COUNT>
static __device__ __forceinline__ void activate(enum activation activation, float (&x)[COUNT]) {
  if (activation == ACTIVATION_NONE) return;
#pragma unroll
  for (int j = 0; j < COUNT && activation == ACTIVATION_RELU; j++) x[j] = relu(x[j]);
#pragma unroll
  for (int j = 0; j < COUNT && activation != ACTIVATION_RELU; j++) x[j] = activated(activation, x[j]);
}

#endif
