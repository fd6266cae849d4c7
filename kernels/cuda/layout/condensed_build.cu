/* Windows of rows are cut in batches. The key of an entry is its window's number in the batch, above its
 * column: sorted, and sorted without repetitions, the keys list the columns of each window in their order,
 * and bisection finds the place of a column in it. Of column vectors those that are taken are listed, whose
 * keys repeat often enough. A block of threads then writes what a window becomes.
 * Places follow from sorted keys and bits are only ever set: the result does not depend on the order in which
 * threads come. */
#include "kernels/cuda/layout/condensed_build.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "kernels/cuda/common/upload.h"
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/condensed_batch.cuh"
#include "kernels/cuda/layout/tiles_build.h"
extern "C" {
#include "runtime/base/memory.h"
}

/* A block of threads a window. */
static __global__ void __launch_bounds__(THREADS)
    keys_kernel(const __grid_constant__ struct batch b, uint64_t *key) {
  const int64_t w = b.first + blockIdx.x, end = b.start[end_of(b, w)];
  for (int64_t e = b.start[w * b.side] + threadIdx.x; e < end; e += THREADS)
    key[e - b.first_entry] = key_of(b, w, b.col[e]);
}

/* columns[w]: distinct ones of window w. A thread a window. */
static __global__ void __launch_bounds__(BLOCK)
    columns_kernel(const __grid_constant__ struct batch b, int32_t *columns) {
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, w = b.first + i;
  if (i >= b.windows) return;
  const int64_t before = place_of(b.distinct, 0, *b.count, key_of(b, w, 0));
  columns[w] = (int32_t)place_of(b.distinct, before, *b.count, key_of(b, w + 1, 0));
}

/* left[i]: entries of row i that are in no vector. A block of threads a window, a warp a row. */
static __global__ void __launch_bounds__(THREADS)
    left_kernel(const __grid_constant__ struct batch b, int32_t *left) {
  const struct window w = find_window(b, b.first + blockIdx.x);
  for (int64_t i = w.number * b.side + threadIdx.x / 32; i < end_of(b, w.number); i += WARPS) {
    const int count = for_left(b, w, i, [](int64_t, int) {});
    if (threadIdx.x % 32 == 0) left[i] = count;
  }
}

/* The first row of window w of the matrix, or its end. */
static int64_t first_row(const struct condensed_build *build, int64_t w) {
  return std::min(w * window_side(&build->rule), build->m->rows);
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
  b.first_entry = m->start[first_row(build, first)];
  b.column_bits = build->column_bits;
  b.side = window_side(&build->rule);
  do {
    b.windows++;
    b.entries = m->start[first_row(build, first + b.windows)] - b.first_entry;
  } while (first + b.windows < build->windows &&
           m->start[first_row(build, first + b.windows + 1)] - b.first_entry <= build->batch);
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

/* Of sorted keys: whether key i is the first of at least `least` equal ones. */
struct begins_vector {
  const uint64_t *key;
  int64_t count, least;
  __host__ __device__ bool operator()(int64_t i) const {
    return (i == 0 || key[i - 1] != key[i]) && i + least <= count && key[i + least - 1] == key[i];
  }
};

static cudaError_t drop_repeats(struct condensed_build *build, int64_t entries, void *temporary,
                                size_t *bytes, cub::DoubleBuffer<uint64_t> &key, cudaStream_t stream) {
  const struct begins_vector begins = {key.Current(), entries, build->rule.vectors};
  if (begins.least > 1)
    return cub::DeviceSelect::Flagged(
        temporary, *bytes, key.Current(),
        thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), begins), key.Alternate(),
        build->distinct, entries, stream);
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
  TRY(device_alloc(d, build->windows * (int64_t)sizeof *build->columns, (void **)&build->columns,
                   "columns of windows"));
  if (build->rule.vectors == 0) return OK;
  return device_alloc(d, build->m->rows * (int64_t)sizeof *build->left, (void **)&build->left,
                      "rest of the windows");
}

int cuda_condensed_build_open(struct kernels *k, const struct csr *m, const int64_t *start,
                              const int32_t *col, const float *value, const struct window_rule *rule,
                              int64_t batch, struct condensed_build *build) {
  *build = {};
  build->m = m;
  build->start = start;
  build->col = col;
  build->value = value;
  build->rule = *rule;
  build->windows = (m->rows + window_side(rule) - 1) / window_side(rule);
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
  device_release(d, build->left);
  device_release(d, build->block_start);
  device_release(d, build->rest_start);
  *build = {};
}

/* What is taken: columns of each window and, of vectors, what that leaves of each row; on the host. */
struct measured {
  int32_t *columns, *left;
};

static int count_columns(struct kernels *k, struct condensed_build *build, const struct measured *to) {
  const int64_t columns = build->windows * (int64_t)sizeof *to->columns,
                left = build->m->rows * (int64_t)sizeof *to->left;
  for (int64_t w = 0; w < build->windows;) {
    struct batch b = batch_at(build, w);
    TRY(sort_batch(k, build, &b));
    columns_kernel<<<blocks_of(b.windows, BLOCK), BLOCK, 0, cuda_stream(k)>>>(b, build->columns);
    TRY_LAUNCH();
    if (build->left) {
      left_kernel<<<(unsigned)b.windows, THREADS, 0, cuda_stream(k)>>>(b, build->left);
      TRY_LAUNCH();
    }
    w += b.windows;
  }
  TRY(device_download(k->device, STREAM_COMPUTE, to->columns, build->columns, columns));
  if (build->left) TRY(device_download(k->device, STREAM_COMPUTE, to->left, build->left, left));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static bool takes_of(const struct window_rule *rule, int64_t arcs, int64_t columns) {
  if (rule->vectors > 0) return columns > 0;
  return arcs > 0 && cost_window(rule, (double)arcs, (double)columns);
}

/* The rule's answers, added up. */
static void take_windows(const struct condensed_build *build, const struct measured *of,
                         struct condensed *condensed, struct csr *rest) {
  const struct csr *m = build->m;
  for (int64_t w = 0; w < condensed->windows; w++) {
    const int64_t first = first_row(build, w), end = first_row(build, w + 1);
    const bool taken = takes_of(&build->rule, m->start[end] - m->start[first], of->columns[w]);
    condensed->taken += taken;
    condensed->start[w + 1] = condensed->start[w] +
                              (taken ? blocks_of_side(of->columns[w], condensed->side) : 0);
    for (int64_t i = first; i < end; i++) {
      const int64_t left = build->left ? of->left[i] : taken ? 0 : m->start[i + 1] - m->start[i];
      rest->start[i + 1] = rest->start[i] + left;
    }
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
                                 struct condensed *condensed, struct csr *rest) {
  const struct csr *m = build->m;
  struct measured measured = {NULL, NULL};
  *condensed = {};
  *rest = {};
  condensed->side = window_side(&build->rule);
  condensed->windows = build->windows;
  rest->rows = m->rows;
  rest->cols = m->cols;
  rest->row = m->row;
  TRY(memory_alloc(&rest->start, (m->rows + 1) * (int64_t)sizeof *rest->start, "rest of the windows"));
  TRY(memory_alloc(&condensed->start, (build->windows + 1) * (int64_t)sizeof *condensed->start, "windows"));
  int code = memory_alloc(&measured.columns, build->windows * (int64_t)sizeof(int32_t), "columns of windows");
  if (code == OK)
    code = memory_alloc(&measured.left, m->rows * (int64_t)sizeof(int32_t), "rest of the windows");
  if (code == OK) code = count_columns(k, build, &measured);
  if (code == OK) take_windows(build, &measured, condensed, rest);
  free(measured.columns);
  free(measured.left);
  TRY(code);
  return copy_starts(k, build, condensed, rest);
}

int cuda_condensed_build_fill(struct kernels *k, struct condensed_build *build,
                              const struct condensed_arrays *to) {
  for (int64_t w = 0; w < build->windows;) {
    struct batch b = batch_at(build, w);
    TRY(sort_batch(k, build, &b));
    TRY(cuda_condensed_fill(k, &b, build->block_start, build->rest_start, to));
    w += b.windows;
  }
  return OK;
}
