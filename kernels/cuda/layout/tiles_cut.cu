/* Windows of 128 rows are cut independently of each other, a block of threads each, with the counts of the
 * window's segments in shared memory. Counts are integers and places follow from them: the result does not
 * depend on the order in which threads come. */
#include "kernels/cuda/layout/tiles_build.h"

#include <string.h>

#include <algorithm>

#include "kernels/cuda/common/upload.h"
#include "kernels/cuda/common/vec.cuh"
extern "C" {
#include "runtime/base/memory.h"
}

constexpr int THREADS = 1024, WARPS = THREADS / 32;
constexpr int64_t SHARED_BYTES = 200 << 10; /* for the counts of segments */

/* The matrix, and which window of it is at hand. */
struct pattern {
  const int64_t *start;
  const int32_t *col;
  const float *value;
  int64_t rows, windows;
  int segments, counts; /* segments where tiles may be; and all, whose counts behind those stay 0 */
};

/* As density counts: cells, their arcs, windows by their densest cell. */
struct counted {
  unsigned long long cells[DENSITY_BINS], arcs[DENSITY_BINS], windows[DENSITY_BINS];
};

static __device__ __forceinline__ int64_t end_of(const struct pattern &p, int64_t w) {
  return min((w + 1) * TILE_ROWS, p.rows);
}

/* entries[s] = entries of segment s in window w, where tiles may be; *total, where there is one, becomes 0
 * between the same barriers. */
static __device__ __forceinline__ void count_segments(const struct pattern &p, int64_t w, int *entries,
                                                      int *total) {
  __syncthreads();
  if (total && threadIdx.x == 0) *total = 0;
  for (int s = (int)threadIdx.x; s < p.counts; s += THREADS) entries[s] = 0;
  __syncthreads();
  const int64_t end = p.start[end_of(p, w)];
  for (int64_t e = p.start[w * TILE_ROWS] + threadIdx.x; e < end; e += THREADS) {
    const int segment = p.col[e] / TILE_COLS;
    if (segment < p.segments) atomicAdd(&entries[segment], 1);
  }
  __syncthreads();
}

/* bin_of of kernels/cost/cost_model.c. */
static __device__ __forceinline__ int density_bin(int entries) {
  if (entries < 64) return entries;
  const int octave = 31 - __clz(entries);
  return 64 + 16 * (octave - 6) + (entries >> (octave - 4) & 15);
}

/* A thread's share of the entries that are in no segment, each a cell of one; `there`: those of its segments.
 */
static __device__ __forceinline__ void count_apart(const struct pattern &p, int64_t w, int there,
                                                   unsigned *cells, unsigned *arcs) {
  const int64_t all = threadIdx.x == 0 ? p.start[end_of(p, w)] - p.start[w * TILE_ROWS] : 0;
  const unsigned apart = (unsigned)(all - there); /* modulo 2^32, as the sum over the threads is */
  if (apart == 0) return;
  atomicAdd(cells, apart);
  atomicAdd(arcs, apart);
}

static __global__ void __launch_bounds__(THREADS, 1)
    density_kernel(const __grid_constant__ struct pattern p, struct counted *counted) {
  extern __shared__ int entries[];
  __shared__ unsigned cells[DENSITY_BINS], arcs[DENSITY_BINS], windows[DENSITY_BINS];
  __shared__ int most;
  for (int b = (int)threadIdx.x; b < DENSITY_BINS; b += THREADS) cells[b] = arcs[b] = windows[b] = 0;
  for (int64_t w = blockIdx.x; w < p.windows; w += gridDim.x) {
    count_segments(p, w, entries, &most);
    int mine = 0, there = 0;
    for (int s = (int)threadIdx.x; s < p.segments; s += THREADS) {
      const int n = entries[s], bin = density_bin(n);
      if (n == 0) continue;
      atomicAdd(&cells[bin], 1u);
      atomicAdd(&arcs[bin], (unsigned)n);
      mine = max(mine, n);
      there += n;
    }
    if (p.segments < p.counts) count_apart(p, w, there, &cells[1], &arcs[1]);
    atomicMax(&most, mine);
    __syncthreads();
    if (threadIdx.x == 0 && most > 0) windows[density_bin(most)]++;
  }
  __syncthreads();
  for (int b = (int)threadIdx.x; b < DENSITY_BINS; b += THREADS) {
    atomicAdd(&counted->cells[b], (unsigned long long)cells[b]);
    atomicAdd(&counted->arcs[b], (unsigned long long)arcs[b]);
    atomicAdd(&counted->windows[b], (unsigned long long)windows[b]);
  }
}

/* tiles[w]: cells of `least` entries and more; left[i]: entries of row i in the others; a 0 behind both. */
static __global__ void __launch_bounds__(THREADS, 1)
    measure_kernel(const __grid_constant__ struct pattern p, int least, int64_t *tiles, int64_t *left) {
  extern __shared__ int entries[];
  __shared__ int count;
  const int lane = (int)threadIdx.x % 32;
  if (blockIdx.x == 0 && threadIdx.x == 0) tiles[p.windows] = left[p.rows] = 0;
  for (int64_t w = blockIdx.x; w < p.windows; w += gridDim.x) {
    count_segments(p, w, entries, &count);
    int mine = 0;
    for (int s = (int)threadIdx.x; s < p.segments; s += THREADS) mine += entries[s] >= least;
    if (mine > 0) atomicAdd(&count, mine);
    for (int64_t i = w * TILE_ROWS + threadIdx.x / 32; i < end_of(p, w); i += WARPS) {
      int rest = 0;
      for (int64_t e = p.start[i] + lane; e < p.start[i + 1]; e += 32)
        rest += entries[p.col[e] / TILE_COLS] < least;
      rest = __reduce_add_sync(~0u, rest);
      if (lane == 0) left[i] = rest;
    }
    __syncthreads();
    if (threadIdx.x == 0) tiles[w] = count;
  }
}

/* The sum of `mine` over the threads before this one. */
static __device__ __forceinline__ int sum_before(int mine, int (&warp_sum)[WARPS]) {
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  int sum = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += below;
  }
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  int before = 0;
  for (int i = 0; i < warp; i++) before += warp_sum[i];
  __syncthreads();
  return before + sum - mine;
}

/* Numbers the window's tiles from `first` on in the order of their segments; entries[s] becomes ~number. */
static __device__ __forceinline__ void number_tiles(const struct pattern &p, int least, int64_t first,
                                                    int *entries, int32_t *segment, int (&warp_sum)[WARPS]) {
  const int each = (p.segments + THREADS - 1) / THREADS, begin = (int)threadIdx.x * each;
  const int end = min(begin + each, p.segments);
  int mine = 0;
  for (int s = begin; s < end; s++) mine += entries[s] >= least;
  int at = sum_before(mine, warp_sum);
  for (int s = begin; s < end; s++) {
    if (entries[s] < least) continue;
    if (segment) segment[first + at] = s;
    entries[s] = ~at++;
  }
  __syncthreads();
}

/* Where what is in tiles of a window goes, and what is left of a row. Either may be NULL. */
struct filled {
  uint32_t *bits;
  int32_t *rest;
  float *rest_value;
};

/* 32 entries of row i, one a lane: `entry`, or none (col -1). Returns how many are left. */
static __device__ __forceinline__ int fill_entries(const struct pattern &p, int64_t i, int64_t entry, int col,
                                                   const int *entries, int moved, const struct filled &to) {
  const int mine = col >= 0 ? entries[col / TILE_COLS] : -1;
  const unsigned left = __ballot_sync(~0u, mine >= 0);
  if (to.bits && col >= 0 && mine < 0) {
    const struct tile_bit at = tile_bit_of((int)(i % TILE_ROWS), col % TILE_COLS);
    atomicOr(&to.bits[(int64_t)~mine * TILE_WORDS + at.word], 1u << at.bit);
  } else if (to.rest && mine >= 0) {
    const int place = moved + __popc(left & ((1u << threadIdx.x % 32) - 1));
    to.rest[place] = col;
    if (to.rest_value) to.rest_value[place] = p.value[entry];
  }
  return __popc(left);
}

/* One warp a row. Its columns are read several batches ahead of their bits: one after the other, most of the
 * time would be waiting. */
static __device__ __forceinline__ void fill_row(const struct pattern &p, int64_t i, const int *entries,
                                                const struct filled &to) {
  constexpr int AHEAD = 8;
  const int64_t end = p.start[i + 1];
  int moved = 0;
  for (int64_t first = p.start[i] + threadIdx.x % 32; first - threadIdx.x % 32 < end; first += 32 * AHEAD) {
    int col[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) col[u] = first + 32 * u < end ? __ldg(p.col + first + 32 * u) : -1;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) moved += fill_entries(p, i, first + 32 * u, col[u], entries, moved, to);
  }
}

static __global__ void __launch_bounds__(THREADS, 1)
    fill_kernel(const __grid_constant__ struct pattern p, int least, const int64_t *tile_start,
                const int64_t *rest_start, const __grid_constant__ struct tile_arrays to) {
  extern __shared__ int entries[];
  __shared__ int warp_sum[WARPS];
  for (int64_t w = blockIdx.x; w < p.windows; w += gridDim.x) {
    count_segments(p, w, entries, NULL);
    number_tiles(p, least, tile_start[w], entries, to.segment, warp_sum);
    for (int64_t i = w * TILE_ROWS + threadIdx.x / 32; i < end_of(p, w); i += WARPS)
      fill_row(p, i, entries,
               {to.bits ? to.bits + tile_start[w] * TILE_WORDS : NULL,
                to.rest_col ? to.rest_col + rest_start[i] : NULL,
                to.rest_value ? to.rest_value + rest_start[i] : NULL});
  }
}

static struct pattern pattern_of(const struct tiles_build *build) {
  return {build->start,
          build->col,
          build->value,
          build->rows,
          build->windows,
          (int)build->segments,
          (int)build->all_segments};
}

static unsigned blocks_for(const struct tiles_build *build) {
  int device = 0, processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  return (unsigned)std::min((int64_t)processors * 2, build->windows);
}

/* Launches a kernel with room for the counts of all segments. */
#define LAUNCH(kernel, k, build, ...)                                                               \
  do {                                                                                              \
    const int bytes_ = (int)((build)->all_segments * (int64_t)sizeof(int));                         \
    TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes_));    \
    kernel<<<blocks_for(build), THREADS, bytes_, cuda_stream(k)>>>(pattern_of(build), __VA_ARGS__); \
    TRY_LAUNCH();                                                                                   \
  } while (0)

static int64_t segments_of(const struct csr *m) {
  return (m->cols + TILE_COLS - 1) / TILE_COLS;
}

int cuda_tiles_can_build(const struct csr *m) {
  return m->rows > 0 && m->nnz > 0 && segments_of(m) * (int64_t)sizeof(int) <= SHARED_BYTES;
}

static int64_t aligned(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/* Room for counts and offsets, in one block. */
static int allocate_counts(struct kernels *k, struct tiles_build *build) {
  const int64_t counts = aligned((int64_t)sizeof(struct counted));
  const int64_t rows = aligned((build->rows + 1) * (int64_t)sizeof(int64_t));
  const int64_t windows = aligned((build->windows + 1) * (int64_t)sizeof(int64_t));
  TRY(cuda_tiles_build_add_up(k, NULL, build->rows + 1, NULL, &build->temporary_bytes));
  TRY(device_alloc(k->device, counts + 2 * rows + windows + (int64_t)build->temporary_bytes, &build->counts,
                   "counts of cells"));
  char *at = (char *)build->counts + counts;
  build->start = (int64_t *)at;
  build->rest_start = (int64_t *)(at + rows);
  build->tile_start = (int64_t *)(at + 2 * rows);
  build->temporary = at + 2 * rows + windows;
  return OK;
}

int cuda_tiles_build_open(struct kernels *k, const struct csr *m, struct tiles_build *build) {
  struct device *d = k->device;
  *build = {};
  build->rows = m->rows;
  build->cols = tile_columns(m);
  build->nnz = m->nnz;
  build->windows = (m->rows + TILE_ROWS - 1) / TILE_ROWS;
  build->segments = tile_segments(m);
  build->all_segments = segments_of(m);
  TRY(allocate_counts(k, build));
  TRY(device_alloc(d, m->nnz * (int64_t)sizeof *build->col, (void **)&build->col,
                   "columns to cut into tiles"));
  TRY(cuda_upload_large(k, build->start, m->start, (m->rows + 1) * (int64_t)sizeof *m->start));
  TRY(cuda_upload_large(k, build->col, m->col, m->nnz * (int64_t)sizeof *m->col));
  if (!m->weight) return OK;
  const int64_t weights = m->nnz * (int64_t)sizeof *build->value;
  TRY(device_alloc(d, weights, (void **)&build->value, "weights to cut into tiles"));
  return cuda_upload_large(k, build->value, m->weight, weights);
}

void cuda_tiles_build_close(struct kernels *k, struct tiles_build *build) {
  device_release(k->device, build->col);
  device_release(k->device, build->counts);
  device_release(k->device, build->rest_col);
  device_release(k->device, build->value);
  device_release(k->device, build->rest_value);
  *build = {};
}

int cuda_tiles_build_density(struct kernels *k, struct tiles_build *build, struct density *density) {
  static struct counted counted;
  struct counted *on_device = (struct counted *)build->counts;
  LAUNCH(density_kernel, k, build, on_device);
  TRY(device_download(k->device, STREAM_COMPUTE, &counted, on_device, (int64_t)sizeof counted));
  TRY(device_synchronize(k->device, STREAM_COMPUTE));
  *density = {};
  density->rows = build->rows;
  density->cols = build->cols;
  for (int b = 0; b < DENSITY_BINS; b++) {
    density->cells[b] = (int64_t)counted.cells[b];
    density->arcs[b] = (int64_t)counted.arcs[b];
    density->windows[b] = (int64_t)counted.windows[b];
  }
  return OK;
}

/* Counts and adds up on the device; what the host goes on with comes back. */
static int measure(struct kernels *k, struct tiles_build *build, int64_t least, struct tiles *tiles,
                   struct csr *rest) {
  const int64_t windows = build->windows + 1, rows = build->rows + 1;
  size_t bytes = build->temporary_bytes;
  LAUNCH(measure_kernel, k, build, (int)least, build->tile_start, build->rest_start);
  TRY(cuda_tiles_build_add_up(k, build->tile_start, windows, build->temporary, &bytes));
  TRY(cuda_tiles_build_add_up(k, build->rest_start, rows, build->temporary, &bytes));
  TRY(device_download(k->device, STREAM_COMPUTE, tiles->start, build->tile_start,
                      windows * (int64_t)sizeof *tiles->start));
  TRY(device_download(k->device, STREAM_COMPUTE, rest->start, build->rest_start,
                      rows * (int64_t)sizeof *rest->start));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

int cuda_tiles_build_measure(struct kernels *k, struct tiles_build *build, int64_t least, const struct csr *m,
                             struct tiles *tiles, struct csr *rest) {
  *tiles = {};
  *rest = {};
  rest->rows = m->rows;
  rest->cols = m->cols;
  rest->near = m->near;
  rest->row = m->row;
  TRY(memory_alloc(&rest->start, (m->rows + 1) * (int64_t)sizeof *rest->start, "rest of the tiles"));
  TRY(memory_alloc(&tiles->start, (build->windows + 1) * (int64_t)sizeof *tiles->start, "tile windows"));
  TRY(measure(k, build, least, tiles, rest));
  tiles->windows = build->windows;
  tiles->count = tiles->start[build->windows];
  rest->nnz = rest->start[m->rows];
  tiles->entries = m->nnz - rest->nnz;
  return OK;
}

int cuda_tiles_build_fill(struct kernels *k, struct tiles_build *build, int64_t least,
                          const struct tile_arrays *to) {
  LAUNCH(fill_kernel, k, build, (int)least, (const int64_t *)build->tile_start,
         (const int64_t *)build->rest_start, *to);
  return build->value && to->segment ? cuda_tiles_build_values(k, build, to) : OK;
}

int cuda_tiles_build_rest(struct kernels *k, struct tiles_build *build, int64_t least, int64_t entries) {
  struct tile_arrays to = {};
  TRY(device_alloc(k->device, entries * (int64_t)sizeof *build->rest_col, (void **)&build->rest_col,
                   "rest of the tiles"));
  if (build->value)
    TRY(device_alloc(k->device, entries * (int64_t)sizeof *build->rest_value, (void **)&build->rest_value,
                     "rest of the tiles"));
  to.rest_col = build->rest_col;
  to.rest_value = build->rest_value;
  return cuda_tiles_build_fill(k, build, least, &to);
}
