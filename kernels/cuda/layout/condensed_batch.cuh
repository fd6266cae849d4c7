/* A batch of windows whose columns are sorted (condensed_build.cu), as threads look into it. */
#ifndef KERNELS_CUDA_LAYOUT_CONDENSED_BATCH_CUH
#define KERNELS_CUDA_LAYOUT_CONDENSED_BATCH_CUH

#include "kernels/cuda/common/cuda.h"
#include "kernels/cuda/layout/condensed_arrays.h"
extern "C" {
#include "kernels/format/condensed.h"
}

constexpr int THREADS = 128, WARPS = THREADS / 32;

/* Windows [first, first + windows) of the matrix, and their keys. */
struct batch {
  const int64_t *start;
  const int32_t *col;
  const float *value;
  int64_t rows, first, windows, first_entry, entries;
  int column_bits, side;    /* see struct condensed */
  const uint64_t *distinct; /* of vectors those that are taken */
  const int64_t *count;     /* of distinct */
};

static __device__ __forceinline__ int64_t end_of(const struct batch &b, int64_t w) {
  return min((w + 1) * b.side, b.rows);
}

static __device__ __forceinline__ uint64_t key_of(const struct batch &b, int64_t w, int64_t col) {
  return (uint64_t)(w - b.first) << b.column_bits | (uint64_t)col;
}

/* How many of keys [first, end) are less than `key`, from `first` on. */
static __device__ __forceinline__ int64_t place_of(const uint64_t *keys, int64_t first, int64_t end,
                                                   uint64_t key) {
  const int64_t begin = first;
  while (first < end) {
    const int64_t middle = first + (end - first) / 2;
    if (keys[middle] < key)
      first = middle + 1;
    else
      end = middle;
  }
  return first - begin;
}

/* A window that is taken: its columns among the distinct keys, its blocks. */
struct window {
  int64_t number, list, columns, block, blocks;
};

static __device__ __forceinline__ int64_t place_of(const struct batch &b, const struct window &w,
                                                   int32_t col) {
  return place_of(b.distinct, w.list, w.list + w.columns, key_of(b, w.number, col));
}

/* Whether the window has that column among those that are taken. */
static __device__ __forceinline__ bool is_taken(const struct batch &b, const struct window &w, int32_t col) {
  const int64_t place = place_of(b, w, col);
  return place < w.columns && b.distinct[w.list + place] == key_of(b, w.number, col);
}

static __device__ __forceinline__ struct window find_window(const struct batch &b, int64_t number) {
  struct window w = {number, 0, 0, 0, 0};
  w.list = place_of(b.distinct, 0, *b.count, key_of(b, number, 0));
  w.columns = place_of(b.distinct, w.list, *b.count, key_of(b, number + 1, 0));
  return w;
}

/* Calls work(entry, how many before it) of the entries of row i that are in no vector of the window; a warp
 * together. Returns how many these are. */
template <class WORK>
static __device__ __forceinline__ int for_left(const struct batch &b, const struct window &w, int64_t i,
                                               WORK work) {
  const int lane = (int)threadIdx.x % 32;
  int before = 0;
  for (int64_t first = b.start[i]; first < b.start[i + 1]; first += 32) {
    const int64_t e = first + lane;
    const bool left = e < b.start[i + 1] && !is_taken(b, w, b.col[e]);
    const uint32_t lanes = __ballot_sync(~0u, left);
    if (left) work(e, before + __popc(lanes & ((1u << lane) - 1)));
    before += __popc(lanes);
  }
  return before;
}

/* Writes what a batch becomes; bits are zeros before, block_start and rest_start those of struct
 * condensed_build. */
int cuda_condensed_fill(struct kernels *k, const struct batch *b, const int64_t *block_start,
                        const int64_t *rest_start, const struct condensed_arrays *to);

#endif
