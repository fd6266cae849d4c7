/* What a block of threads writes of each window: columns and bits of its blocks, weights in the order of the
 * bits, and the rest. Bits are only ever set, so that it does not matter in which order threads come. */
#include <cub/block/block_scan.cuh>

#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/condensed_batch.cuh"

template <int SIDE>
static __device__ __forceinline__ void write_columns(const struct batch &b, const struct window &w,
                                                     int32_t *to) {
  const uint64_t mask = (1ull << b.column_bits) - 1;
  for (int64_t i = threadIdx.x; i < w.blocks * SIDE; i += THREADS)
    to[w.block * SIDE + i] = (int32_t)(b.distinct[w.list + min(i, w.columns - 1)] & mask);
}

/* Where an entry of row r of the window stands. */
struct bit_place {
  int64_t block;
  struct block_bit at;
};

template <int SIDE>
static __device__ __forceinline__ struct bit_place bit_of(const struct batch &b, const struct window &w,
                                                          int r, int32_t col) {
  const int64_t place = place_of(b, w, col);
  return {w.block + place / SIDE, block_bit_of(SIDE, r, (int)(place % SIDE))};
}

/* Calls work(row of the window, entry) of the entries that are taken; a warp a row. */
template <int SIDE, class WORK>
static __device__ __forceinline__ void for_entries(const struct batch &b, const struct window &w, WORK work) {
  const int64_t first = w.number * SIDE;
  for (int64_t i = first + threadIdx.x / 32; i < end_of(b, w.number); i += WARPS) {
    for (int64_t e = b.start[i] + threadIdx.x % 32; e < b.start[i + 1]; e += 32)
      if (SIDE == CONDENSED_ROWS || is_taken(b, w, b.col[e])) work((int)(i - first), e);
  }
}

template <int SIDE>
static __device__ __forceinline__ void set_bits(const struct batch &b, const struct window &w,
                                                uint8_t *bits) {
  for_entries<SIDE>(b, w, [&](int r, int64_t e) {
    const struct bit_place p = bit_of<SIDE>(b, w, r, b.col[e]);
    uint32_t *word = (uint32_t *)(bits + p.block * (SIDE * SIDE / 8)) + p.at.byte / 4;
    atomicOr(word, 1u << (p.at.byte % 4 * 8 + p.at.bit));
  });
}

static __device__ __forceinline__ int bits_before(const uint8_t *block, struct block_bit at) {
  const uint32_t *word = (const uint32_t *)block;
  int count = __popc(word[at.byte / 4] & ((1u << (at.byte % 4 * 8 + at.bit)) - 1));
  for (int i = 0; i < at.byte / 4; i++) count += __popc(word[i]);
  return count;
}

/* How many bits block i of the window has, which stand there already. */
template <int SIDE>
static __device__ __forceinline__ int bits_of_block(const struct window &w, int64_t i, const uint8_t *bits) {
  const uint32_t *word = (const uint32_t *)(bits + (w.block + i) * (SIDE * SIDE / 8));
  int count = 0;
#pragma unroll
  for (int j = 0; j < SIDE * SIDE / 32; j++) count += i < w.blocks ? __popc(word[j]) : 0;
  return count;
}

/* before: values before the window. */
template <int SIDE>
static __device__ __forceinline__ void write_first(const struct window &w, int64_t before,
                                                   const uint8_t *bits, int64_t *first) {
  typedef cub::BlockScan<int, THREADS> scan;
  __shared__ typename scan::TempStorage storage;
  for (int64_t i = threadIdx.x; i - threadIdx.x < w.blocks; i += THREADS) {
    int place, all;
    scan(storage).ExclusiveSum(bits_of_block<SIDE>(w, i, bits), place, all);
    if (i < w.blocks) first[w.block + i] = before + place;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) first[w.block + w.blocks] = before; /* the next window's, or the end */
}

template <int SIDE>
static __device__ __forceinline__ void write_values(const struct batch &b, const struct window &w,
                                                    const struct condensed_arrays &to) {
  for_entries<SIDE>(b, w, [&](int r, int64_t e) {
    const struct bit_place p = bit_of<SIDE>(b, w, r, b.col[e]);
    to.value[to.first[p.block] + bits_before(to.bits + p.block * (SIDE * SIDE / 8), p.at)] = b.value[e];
  });
}

static __device__ __forceinline__ void write_left(const struct batch &b, const struct window &w,
                                                  const int64_t *rest_start,
                                                  const struct condensed_arrays &to) {
  for (int64_t i = w.number * VECTOR_ROWS + threadIdx.x / 32; i < end_of(b, w.number); i += WARPS) {
    for_left(b, w, i, [&](int64_t e, int before) {
      to.rest_col[rest_start[i] + before] = b.col[e];
      if (b.value) to.rest_value[rest_start[i] + before] = b.value[e];
    });
  }
}

/* Rows of a window of which nothing is taken. */
static __device__ __forceinline__ void copy_rows(const struct batch &b, int64_t w, int64_t to,
                                                 const struct condensed_arrays &arrays) {
  const int64_t from = b.start[w * b.side], count = b.start[end_of(b, w)] - from;
  for (int64_t i = threadIdx.x; i < count; i += THREADS) {
    arrays.rest_col[to + i] = b.col[from + i];
    if (b.value) arrays.rest_value[to + i] = b.value[from + i];
  }
}

/* A block of threads a window. */
template <int SIDE>
static __global__ void __launch_bounds__(THREADS)
    fill_kernel(const __grid_constant__ struct batch b, const int64_t *block_start, const int64_t *rest_start,
                const __grid_constant__ struct condensed_arrays to) {
  const int64_t number = b.first + blockIdx.x, row = number * SIDE, block = block_start[number];
  const int64_t blocks = block_start[number + 1] - block;
  if (blocks == 0) return copy_rows(b, number, rest_start[row], to);
  struct window w = find_window(b, number);
  w.block = block;
  w.blocks = blocks;
  write_columns<SIDE>(b, w, to.col);
  set_bits<SIDE>(b, w, to.bits);
  if (SIDE == VECTOR_ROWS) write_left(b, w, rest_start, to);
  if (!b.value) return;
  __syncthreads();
  write_first<SIDE>(w, b.start[row] - rest_start[row], to.bits, to.first);
  __syncthreads();
  write_values<SIDE>(b, w, to);
}

int cuda_condensed_fill(struct kernels *k, const struct batch *b, const int64_t *block_start,
                        const int64_t *rest_start, const struct condensed_arrays *to) {
  auto *kernel = b->side == VECTOR_ROWS ? fill_kernel<VECTOR_ROWS> : fill_kernel<CONDENSED_ROWS>;
  kernel<<<(unsigned)b->windows, THREADS, 0, cuda_stream(k)>>>(*b, block_start, rest_start, *to);
  TRY_LAUNCH();
  return OK;
}
