/* Walks down a matrix: a block of threads takes a block of rows, each thread eight columns of every
 * blockDim.y-th of them. It works on some rows while it reads the next ones, so that loads are under way all
 * the time. */
#ifndef KERNELS_CUDA_COMMON_WALK_CUH
#define KERNELS_CUDA_COMMON_WALK_CUH

#include <string.h>

#include <algorithm>

#include "kernels/cuda/common/vec.cuh"

/* Rows cut into blocks of rows, so many that the GPU works on all of them at once. */
struct cut {
  int64_t rows, parts; /* of a block; blocks */
};

/* blocks: those that a multiprocessor holds at once. Depends on the number of rows and the GPU's model alone.
 */
static inline struct cut cut_rows(int64_t rows, int blocks) {
  int device = 0, processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int64_t most = (int64_t)processors * blocks, each = std::max((rows + most - 1) / most, (int64_t)32);
  return {each, (rows + each - 1) / each};
}

static inline dim3 grid_of(struct cut cut, int64_t cols) {
  return dim3((unsigned)cut.parts, blocks_of(cols, (int64_t)lanes_of(cols) * GROUP));
}

/* Whether a row's lanes hold all its columns. */
static inline bool lanes_hold(int64_t cols) {
  return cols <= (int64_t)lanes_of(cols) * GROUP;
}

/* The first of a thread's columns. */
static __device__ __forceinline__ int64_t first_column() {
  return ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * GROUP;
}

/* Eight columns of a row as they lie in memory. */
template <class T> struct packed { uint4 part[GROUP * sizeof(T) / sizeof(uint4)]; };

/* Columns [first, first + n) of row v; nothing is read and all is 0 unless `there`. */
template <class T, bool WHOLE>
static __device__ __forceinline__ struct packed<T> read_group(const struct tensor &t, bool there, int v,
                                                              int64_t first, int n) {
  constexpr int PIECES = (int)(sizeof(packed<T>) / sizeof(uint4));
  struct packed<T> x = {};
  const T *from = place_of<T>(t, v, first);
  if constexpr (WHOLE) {
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
      if (there && n > 0) x.part[i] = ((const uint4 *)from)[i];
    }
  } else {
    T element[GROUP];
#pragma unroll
    for (int j = 0; j < GROUP; j++) element[j] = there && j < n ? from[j] : (T)0.0f;
    memcpy(&x, element, sizeof x);
  }
  return x;
}

static __device__ __forceinline__ void
unpack(const struct packed<float> &from, float (&to)[GROUP]) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    to[4 * i] = __uint_as_float(from.part[i].x), to[4 * i + 1] = __uint_as_float(from.part[i].y);
    to[4 * i + 2] = __uint_as_float(from.part[i].z), to[4 * i + 3] = __uint_as_float(from.part[i].w);
  }
}

static __device__ __forceinline__ void unpack(const struct packed<bf16> &from, float (&to)[GROUP]) {
  const uint32_t word[4] = {from.part[0].x, from.part[0].y, from.part[0].z, from.part[0].w};
#pragma unroll
  for (int j = 0; j < GROUP; j++)
    to[j] = __uint_as_float(j % 2 ? word[j / 2] & 0xFFFF0000u : word[j / 2] << 16);
}

/* STEP: ROWS, the rows of one step; `input`, what is read of them; read(v), which reads rows v,
 * v + blockDim.y, ..., of those that are before `end`; work(input, v), by whole warps, also where none of a
 * thread's rows is before `end`. */
template <class STEP> static __device__ __forceinline__ void walk(STEP &step, int begin, int end) {
  const int stride = STEP::ROWS * (int)blockDim.y, behind = (int)threadIdx.y - first_row_of_warp();
  int first = begin + first_row_of_warp();
  typename STEP::input next = step.read(first + behind), now;
  for (; first < end; first += stride) {
    now = next;
    next = step.read(first + behind + stride);
    step.work(now, first + behind);
  }
}

#endif
