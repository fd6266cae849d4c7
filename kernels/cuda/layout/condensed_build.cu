/* Windows of 16 rows are cut in batches. The key of an entry is its window's number in the batch, above its
 * column: sorted, and sorted without repetitions, the keys list the columns of each window in their order,
 * and bisection finds the place of a column in it. A block of threads then writes what a window becomes.
 * Places follow from sorted keys and bits are only ever set: the result does not depend on the order in which
 * threads come. */
#include "kernels/cuda/layout/condensed_build.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "kernels/cuda/common/upload.h"
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/tiles_build.h"
extern "C" {
#include "runtime/base/memory.h"
}

constexpr int THREADS = 128, WARPS = THREADS / 32;

/* Windows [first, first + windows) of the matrix, and their keys. */
struct batch {
  const int64_t *start;
  const int32_t *col;
  const float *value;
  int64_t rows, first, windows, first_entry, entries;
  int column_bits;
  const uint64_t *sorted, *distinct;
  const int64_t *count; /* of distinct */
};

static __device__ __forceinline__ int64_t end_of(const struct batch &b, int64_t w) {
  return min((w + 1) * CONDENSED_ROWS, b.rows);
}

static __device__ __forceinline__ uint64_t key_of(const struct batch &b, int64_t w, int64_t col) {
  return (uint64_t)(w - b.first) << b.column_bits | (uint64_t)col;
}

/* A block of threads a window. */
static __global__ void __launch_bounds__(THREADS)
    keys_kernel(const __grid_constant__ struct batch b, uint64_t *key) {
  const int64_t w = b.first + blockIdx.x, end = b.start[end_of(b, w)];
  for (int64_t e = b.start[w * CONDENSED_ROWS] + threadIdx.x; e < end; e += THREADS)
    key[e - b.first_entry] = key_of(b, w, b.col[e]);
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

/* columns[w]: distinct ones of window w. A thread a window. */
static __global__ void __launch_bounds__(BLOCK)
    columns_kernel(const __grid_constant__ struct batch b, int32_t *columns) {
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, w = b.first + i;
  if (i >= b.windows) return;
  const int64_t before = place_of(b.distinct, 0, *b.count, key_of(b, w, 0));
  columns[w] = (int32_t)place_of(b.distinct, before, *b.count, key_of(b, w + 1, 0));
}

/* A window that is taken: its columns among the distinct keys, its blocks. */
struct window {
  int64_t number, list, columns, block, blocks;
};

static __device__ __forceinline__ int64_t place_of(const struct batch &b, const struct window &w,
                                                   int32_t col) {
  return place_of(b.distinct, w.list, w.list + w.columns, key_of(b, w.number, col));
}

static __device__ __forceinline__ void write_columns(const struct batch &b, const struct window &w,
                                                     int32_t *to) {
  const uint64_t mask = (1ull << b.column_bits) - 1;
  for (int64_t i = threadIdx.x; i < w.blocks * CONDENSED_COLS; i += THREADS)
    to[w.block * CONDENSED_COLS + i] = (int32_t)(b.distinct[w.list + min(i, w.columns - 1)] & mask);
}

/* Where an entry of row r of the window stands. */
struct bit_place {
  int64_t block;
  struct block_bit at;
};

static __device__ __forceinline__ struct bit_place bit_of(const struct batch &b, const struct window &w,
                                                          int r, int32_t col) {
  const int64_t place = place_of(b, w, col);
  return {w.block + place / CONDENSED_COLS, block_bit_of(r, (int)(place % CONDENSED_COLS))};
}

/* Calls work(row of the window, entry); a warp a row. */
template <class WORK>
static __device__ __forceinline__ void for_entries(const struct batch &b, int64_t w, WORK work) {
  const int64_t first = w * CONDENSED_ROWS;
  for (int64_t i = first + threadIdx.x / 32; i < end_of(b, w); i += WARPS) {
    for (int64_t e = b.start[i] + threadIdx.x % 32; e < b.start[i + 1]; e += 32) work((int)(i - first), e);
  }
}

static __device__ __forceinline__ void set_bits(const struct batch &b, const struct window &w,
                                                uint8_t *bits) {
  for_entries(b, w.number, [&](int r, int64_t e) {
    const struct bit_place p = bit_of(b, w, r, b.col[e]);
    uint32_t *word = (uint32_t *)(bits + p.block * BLOCK_BYTES) + p.at.byte / 4;
    atomicOr(word, 1u << (p.at.byte % 4 * 8 + p.at.bit));
  });
}

static __device__ __forceinline__ int bits_before(const uint8_t *block, struct block_bit at) {
  const uint32_t *word = (const uint32_t *)block;
  int count = __popc(word[at.byte / 4] & ((1u << (at.byte % 4 * 8 + at.bit)) - 1));
  for (int i = 0; i < at.byte / 4; i++) count += __popc(word[i]);
  return count;
}

/* The entries of a block are those of sixteen columns, which the sorted keys have together. */
static __device__ __forceinline__ void write_first(const struct batch &b, const struct window &w,
                                                   int64_t before, int64_t *first) {
  const int64_t from = b.start[w.number * CONDENSED_ROWS] - b.first_entry;
  const int64_t end = b.start[end_of(b, w.number)] - b.first_entry;
  for (int64_t i = threadIdx.x; i < w.blocks; i += THREADS) {
    const uint64_t key = b.distinct[w.list + i * CONDENSED_COLS];
    first[w.block + i] = before + place_of(b.sorted, from, end, key);
  }
  if (threadIdx.x == 0) first[w.block + w.blocks] = before + end - from; /* the next window's, or the end */
}

static __device__ __forceinline__ void write_values(const struct batch &b, const struct window &w,
                                                    const struct condensed_arrays &to) {
  for_entries(b, w.number, [&](int r, int64_t e) {
    const struct bit_place p = bit_of(b, w, r, b.col[e]);
    to.value[to.first[p.block] + bits_before(to.bits + p.block * BLOCK_BYTES, p.at)] = b.value[e];
  });
}

/* Rows of a window that is not taken. */
static __device__ __forceinline__ void copy_rows(const struct batch &b, int64_t w, int64_t to,
                                                 const struct condensed_arrays &arrays) {
  const int64_t from = b.start[w * CONDENSED_ROWS], count = b.start[end_of(b, w)] - from;
  for (int64_t i = threadIdx.x; i < count; i += THREADS) {
    arrays.rest_col[to + i] = b.col[from + i];
    if (b.value) arrays.rest_value[to + i] = b.value[from + i];
  }
}

/* A block of threads a window. */
static __global__ void __launch_bounds__(THREADS)
    fill_kernel(const __grid_constant__ struct batch b, const int64_t *block_start, const int64_t *rest_start,
                const __grid_constant__ struct condensed_arrays to) {
  const int64_t number = b.first + blockIdx.x, row = number * CONDENSED_ROWS;
  struct window w = {number, 0, 0, block_start[number], 0};
  w.blocks = block_start[number + 1] - w.block;
  if (w.blocks == 0) return copy_rows(b, number, rest_start[row], to);
  w.list = place_of(b.distinct, 0, *b.count, key_of(b, number, 0));
  w.columns = place_of(b.distinct, w.list, *b.count, key_of(b, number + 1, 0));
  write_columns(b, w, to.col);
  set_bits(b, w, to.bits);
  if (!b.value) return;
  write_first(b, w, b.start[row] - rest_start[row], to.first);
  __syncthreads();
  write_values(b, w, to);
}

static int64_t windows_end(const struct csr *m, int64_t w) {
  return std::min(w * CONDENSED_ROWS, m->rows);
}

/* The windows behind `first` that are sorted together. */
static struct batch batch_at(const struct condensed_build *build, int64_t first) {
  const struct csr *m = build->m;
  struct batch b = {};
  b.start = build->start;
  b.col = build->col;
  b.value = build->value;
  b.rows = m->rows;
  b.first = first;
  b.first_entry = m->start[first * CONDENSED_ROWS];
  b.column_bits = build->column_bits;
  do {
    b.windows++;
    b.entries = m->start[windows_end(m, first + b.windows)] - b.first_entry;
  } while (first + b.windows < build->windows &&
           m->start[windows_end(m, first + b.windows + 1)] - b.first_entry <= build->batch);
  return b;
}

/* How many bits numbers below `count` have. */
static int bits_of(int64_t count) {
  int bits = 1;
  while (bits < 62 && (int64_t)1 << bits < count) bits++;
  return bits;
}

static cudaError_t sort(struct condensed_build *build, int64_t entries, int64_t windows, void *temporary,
                        size_t *bytes, cub::DoubleBuffer<uint64_t> &key, cudaStream_t stream) {
  const int bits = build->column_bits + bits_of(windows + 1);
  return cub::DeviceRadixSort::SortKeys(temporary, *bytes, key, entries, 0, bits, stream);
}

static cudaError_t drop_repeats(struct condensed_build *build, int64_t entries, void *temporary,
                                size_t *bytes, cub::DoubleBuffer<uint64_t> &key, cudaStream_t stream) {
  return cub::DeviceSelect::Unique(temporary, *bytes, key.Current(), key.Alternate(), build->distinct,
                                   entries, stream);
}

/* Fills in the keys of a batch. */
static int sort_batch(struct kernels *k, struct condensed_build *build, struct batch *b) {
  size_t bytes = build->temporary_bytes;
  cub::DoubleBuffer<uint64_t> key(build->key[0], build->key[1]);
  keys_kernel<<<(unsigned)b->windows, THREADS, 0, cuda_stream(k)>>>(*b, build->key[0]);
  TRY_LAUNCH();
  TRY_CUDA(cudaMemsetAsync(build->distinct, 0, sizeof *build->distinct, cuda_stream(k)));
  if (b->entries > 0) {
    TRY_CUDA(sort(build, b->entries, b->windows, build->temporary, &bytes, key, cuda_stream(k)));
    TRY_CUDA(drop_repeats(build, b->entries, build->temporary, &bytes, key, cuda_stream(k)));
  }
  b->sorted = key.Current();
  b->distinct = key.Alternate();
  b->count = build->distinct;
  return OK;
}

static int copy_matrix(struct kernels *k, const struct csr *m, struct condensed_build *build) {
  struct device *d = k->device;
  const int64_t starts = (m->rows + 1) * (int64_t)sizeof *m->start, cols = m->nnz * (int64_t)sizeof *m->col,
                values = m->nnz * (int64_t)sizeof *m->weight;
  if (!build->start) {
    TRY(device_alloc(d, starts, &build->copied[0], "row offsets"));
    TRY(device_upload(d, STREAM_COMPUTE, build->copied[0], m->start, starts));
    build->start = (const int64_t *)build->copied[0];
  }
  if (!build->col) {
    TRY(device_alloc(d, cols, &build->copied[1], "columns to condense"));
    TRY(cuda_upload_large(k, build->copied[1], m->col, cols));
    build->col = (const int32_t *)build->copied[1];
  }
  if (build->value || !m->weight) return OK;
  TRY(device_alloc(d, values, &build->copied[2], "weights to condense"));
  TRY(cuda_upload_large(k, build->copied[2], m->weight, values));
  build->value = (const float *)build->copied[2];
  return OK;
}

/* Room for the largest batch. */
static int allocate_keys(struct kernels *k, struct condensed_build *build) {
  struct device *d = k->device;
  int64_t entries = 1, windows = 1;
  for (int64_t w = 0; w < build->windows;) {
    const struct batch b = batch_at(build, w);
    entries = std::max(entries, b.entries);
    windows = std::max(windows, b.windows);
    w += b.windows;
  }
  for (int i = 0; i < 2; i++)
    TRY(device_alloc(d, entries * (int64_t)sizeof(uint64_t), (void **)&build->key[i], "keys of columns"));
  size_t sorts = 0, drops = 0;
  cub::DoubleBuffer<uint64_t> key(build->key[0], build->key[1]);
  TRY_CUDA(sort(build, entries, windows, NULL, &sorts, key, cuda_stream(k)));
  TRY_CUDA(drop_repeats(build, entries, NULL, &drops, key, cuda_stream(k)));
  build->temporary_bytes = std::max(sorts, drops);
  TRY(device_alloc(d, (int64_t)build->temporary_bytes, &build->temporary, "scratch of a sort"));
  TRY(device_alloc(d, (int64_t)sizeof *build->distinct, (void **)&build->distinct, "scratch of a sort"));
  return device_alloc(d, build->windows * (int64_t)sizeof *build->columns, (void **)&build->columns,
                      "columns of windows");
}

int cuda_condensed_build_open(struct kernels *k, const struct csr *m, const int64_t *start,
                              const int32_t *col, const float *value, int64_t batch,
                              struct condensed_build *build) {
  *build = {};
  build->m = m;
  build->start = start;
  build->col = col;
  build->value = value;
  build->windows = (m->rows + CONDENSED_ROWS - 1) / CONDENSED_ROWS;
  build->batch = batch;
  build->column_bits = bits_of(m->cols);
  TRY(copy_matrix(k, m, build));
  return allocate_keys(k, build);
}

void cuda_condensed_build_close(struct kernels *k, struct condensed_build *build) {
  struct device *d = k->device;
  for (void *copied : build->copied) device_release(d, copied);
  for (uint64_t *key : build->key) device_release(d, key);
  device_release(d, build->distinct);
  device_release(d, build->temporary);
  device_release(d, build->columns);
  device_release(d, build->block_start);
  device_release(d, build->rest_start);
  *build = {};
}

static int count_columns(struct kernels *k, struct condensed_build *build, int32_t *columns) {
  for (int64_t w = 0; w < build->windows;) {
    struct batch b = batch_at(build, w);
    TRY(sort_batch(k, build, &b));
    columns_kernel<<<blocks_of(b.windows, BLOCK), BLOCK, 0, cuda_stream(k)>>>(b, build->columns);
    TRY_LAUNCH();
    w += b.windows;
  }
  TRY(device_download(k->device, STREAM_COMPUTE, columns, build->columns,
                      build->windows * (int64_t)sizeof *columns));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

/* The rule's answers, added up. */
static void take_windows(const struct csr *m, const struct window_rule *rule, const int32_t *columns,
                         struct condensed *condensed, struct csr *rest) {
  for (int64_t w = 0; w < condensed->windows; w++) {
    const int64_t first = w * CONDENSED_ROWS, end = windows_end(m, w + 1);
    const int64_t arcs = m->start[end] - m->start[first];
    const bool taken = arcs > 0 && cost_window(rule, (double)arcs, (double)columns[w]);
    condensed->taken += taken;
    condensed->start[w + 1] = condensed->start[w] + (taken ? blocks_of_columns(columns[w]) : 0);
    for (int64_t i = first; i < end; i++)
      rest->start[i + 1] = rest->start[i] + (taken ? 0 : m->start[i + 1] - m->start[i]);
  }
  condensed->blocks = condensed->start[condensed->windows];
  rest->nnz = rest->start[m->rows];
  condensed->entries = m->nnz - rest->nnz;
}

static int copy_starts(struct kernels *k, struct condensed_build *build, const struct condensed *condensed,
                       const struct csr *rest) {
  struct device *d = k->device;
  const int64_t windows = (build->windows + 1) * (int64_t)sizeof *condensed->start;
  const int64_t rows = (build->m->rows + 1) * (int64_t)sizeof *rest->start;
  TRY(device_alloc(d, windows, (void **)&build->block_start, "blocks of windows"));
  TRY(device_alloc(d, rows, (void **)&build->rest_start, "rest of the windows"));
  TRY(device_upload(d, STREAM_COMPUTE, build->block_start, condensed->start, windows));
  return device_upload(d, STREAM_COMPUTE, build->rest_start, rest->start, rows);
}

int cuda_condensed_build_measure(struct kernels *k, struct condensed_build *build,
                                 const struct window_rule *rule, struct condensed *condensed,
                                 struct csr *rest) {
  const struct csr *m = build->m;
  int32_t *columns = NULL;
  *condensed = {};
  *rest = {};
  condensed->windows = build->windows;
  rest->rows = m->rows;
  rest->cols = m->cols;
  rest->row = m->row;
  TRY(memory_alloc(&rest->start, (m->rows + 1) * (int64_t)sizeof *rest->start, "rest of the windows"));
  TRY(memory_alloc(&condensed->start, (build->windows + 1) * (int64_t)sizeof *condensed->start, "windows"));
  TRY(memory_alloc(&columns, build->windows * (int64_t)sizeof *columns, "columns of windows"));
  const int code = count_columns(k, build, columns);
  if (code == OK) take_windows(m, rule, columns, condensed, rest);
  free(columns);
  TRY(code);
  return copy_starts(k, build, condensed, rest);
}

int cuda_condensed_build_fill(struct kernels *k, struct condensed_build *build,
                              const struct condensed_arrays *to) {
  for (int64_t w = 0; w < build->windows;) {
    struct batch b = batch_at(build, w);
    TRY(sort_batch(k, build, &b));
    fill_kernel<<<(unsigned)b.windows, THREADS, 0, cuda_stream(k)>>>(b, (const int64_t *)build->block_start,
                                                                     (const int64_t *)build->rest_start, *to);
    TRY_LAUNCH();
    w += b.windows;
  }
  return OK;
}
