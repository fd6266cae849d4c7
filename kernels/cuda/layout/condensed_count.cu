/* condensed_count of kernels/format/condensed.c for a matrix that is on the GPU, to the bit. A block of
 * threads a window of 16 rows: it counts the cells of the 128 rows around it, then its own columns. Those
 * that it has met are bits in global memory, set by the first to come; it does not matter which entry that
 * is. */
#include <algorithm>

#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/condensed.h"
extern "C" {
#include "runtime/base/memory.h"
}

constexpr int THREADS = 512, HEIGHT = TILE_ROWS / CONDENSED_ROWS, SET = 32;
constexpr int BLOCKS = 264; /* at most: two on each multiprocessor of an H200 */
static_assert(SET % CONDENSED_COLS == 0, "columns of a block are in one word");

/* Entries of a window that are in no tile, their columns, and blocks with an entry as the columns stand. */
struct window_count {
  unsigned long long arcs, columns, before;
};

/* The matrix, and which of its rows are looked at. */
struct sample {
  const int64_t *start;
  const int32_t *col;
  int64_t rows, cells, least, every, windows; /* cells 0: nothing is in tiles; windows: that are looked at */
  uint32_t *seen;                             /* [blocks, words] zeros */
  int64_t words;
};

static __device__ __forceinline__ void count_cells(const struct sample &s, int64_t row, int *cell) {
  for (int64_t i = threadIdx.x; i < s.cells; i += THREADS) cell[i] = 0;
  __syncthreads();
  const int64_t end = s.start[min(row + TILE_ROWS, s.rows)];
  for (int64_t e = s.start[row] + threadIdx.x; e < end && s.cells > 0; e += THREADS)
    atomicAdd(&cell[s.col[e] / TILE_COLS], 1);
  __syncthreads();
}

static __device__ __forceinline__ void add_to(unsigned long long *sum, int mine) {
  const int of_warp = __reduce_add_sync(~0u, mine);
  if (threadIdx.x % 32 == 0 && of_warp > 0) atomicAdd(sum, (unsigned long long)of_warp);
}

static __global__ void __launch_bounds__(THREADS)
    count_kernel(const __grid_constant__ struct sample s, struct window_count *count) {
  extern __shared__ int cell[];
  uint32_t *seen = s.seen + blockIdx.x * s.words;
  for (int64_t i = blockIdx.x; i < s.windows; i += gridDim.x) {
    const int64_t tall = i / HEIGHT * s.every * TILE_ROWS, row = tall + i % HEIGHT * CONDENSED_ROWS;
    if (row >= s.rows) continue;
    const int64_t first = s.start[row], end = s.start[min(row + CONDENSED_ROWS, s.rows)];
    int arcs = 0, columns = 0, before = 0;
    count_cells(s, tall, cell);
    for (int64_t e = first + threadIdx.x; e < end; e += THREADS) {
      const int col = s.col[e];
      if (s.cells > 0 && cell[col / TILE_COLS] >= s.least) continue;
      const uint32_t bit = 1u << col % SET, block = 0xFFFFu << col % SET / CONDENSED_COLS * CONDENSED_COLS;
      const uint32_t met = atomicOr(&seen[col / SET], bit);
      arcs++;
      columns += !(met & bit);
      before += !(met & block);
    }
    add_to(&count[i].arcs, arcs);
    add_to(&count[i].columns, columns);
    add_to(&count[i].before, before);
    __syncthreads();
    for (int64_t e = first + threadIdx.x; e < end; e += THREADS) seen[s.col[e] / SET] = 0;
    __syncthreads();
  }
}

/* Counts into host memory; block: of the device, for sets and counts. */
static int count_windows(struct kernels *k, const struct sample *s, int64_t blocks, void *block,
                         struct window_count *count) {
  const int64_t counts = s->windows * (int64_t)sizeof *count;
  const int bytes = (int)(s->cells * (int64_t)sizeof(int));
  struct window_count *on_device = (struct window_count *)block;
  struct sample sample = *s;
  sample.seen = (uint32_t *)(on_device + s->windows);
  const int64_t sets = blocks * s->words * (int64_t)sizeof *sample.seen;
  TRY_CUDA(cudaMemsetAsync(block, 0, (size_t)(counts + sets), cuda_stream(k)));
  TRY_CUDA(cudaFuncSetAttribute(count_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  count_kernel<<<(unsigned)blocks, THREADS, bytes, cuda_stream(k)>>>(sample, on_device);
  TRY_LAUNCH();
  TRY(device_download(k->device, STREAM_COMPUTE, count, on_device, counts));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static int count_sample(struct kernels *k, const struct sample *s, struct condensing *condensing) {
  const int64_t blocks = std::min(s->windows, (int64_t)BLOCKS);
  const int64_t bytes = s->windows * (int64_t)sizeof(struct window_count) +
                        blocks * s->words * (int64_t)sizeof(uint32_t);
  struct window_count *count = NULL;
  void *block = NULL;
  TRY(memory_alloc(&count, s->windows * (int64_t)sizeof *count, "counts of windows"));
  int code = device_alloc(k->device, bytes, &block, "columns of windows");
  if (code == OK) code = count_windows(k, s, blocks, block, count);
  for (int64_t i = 0; i < s->windows && code == OK; i++) {
    if (count[i].arcs == 0) continue;
    condensing_window(condensing, (int64_t)count[i].arcs, (int64_t)count[i].columns,
                      (int64_t)count[i].before);
  }
  device_release(k->device, block);
  free(count);
  return code;
}

int cuda_condensed_count(struct kernels *k, const struct tiles_build *m, int64_t least, int64_t every,
                         struct condensing *condensing) {
  struct sample s = {};
  s.start = m->start;
  s.col = m->col;
  s.rows = m->rows;
  s.cells = least <= TILE_CELLS ? m->segments : 0;
  s.least = least;
  s.every = every;
  s.windows = (m->windows + every - 1) / every * HEIGHT;
  s.words = m->cols / SET + 1;
  *condensing = {};
  TRY(count_sample(k, &s, condensing));
  condensing_multiply(condensing, every);
  return OK;
}
