/* Weights of tiles whose bits are there: the bits of strips are counted and added up, then each weight goes
 * where its bit stands among those of its strip. */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/layout/tiles_build.h"

constexpr int WARPS = BLOCK / 32;

/* first[s] = bits of strip s; of the one behind the last: 0. A warp a strip. */
static __global__ void __launch_bounds__(BLOCK)
    count_kernel(const uint32_t *bits, int64_t strips, int64_t *first) {
  const int64_t s = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  const int lane = (int)threadIdx.x % 32;
  if (s > strips) return;
  const int count = __reduce_add_sync(~0u, s < strips ? __popc(bits[s * STRIP_WORDS + lane]) : 0);
  if (lane == 0) first[s] = count;
}
static_assert(STRIP_WORDS == 32, "a word a lane");

/* Which of the tiles [first, end) has that segment; end: none. */
static __device__ __forceinline__ int64_t tile_of(const int32_t *tile_segment, int64_t first, int64_t end,
                                                  int32_t segment) {
  const int64_t none = end;
  while (first < end) {
    const int64_t middle = first + (end - first) / 2;
    if (tile_segment[middle] < segment)
      first = middle + 1;
    else
      end = middle;
  }
  return first < none && tile_segment[first] == segment ? first : none;
}

struct weights {
  const int64_t *start, *tile_start;
  const int32_t *col;
  const float *value;
  int64_t rows;
};

/* A warp a row. */
static __global__ void __launch_bounds__(BLOCK)
    values_kernel(const __grid_constant__ struct weights m, const __grid_constant__ struct tile_arrays to) {
  const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32, w = i / TILE_ROWS;
  if (i >= m.rows) return;
  const int64_t first = m.tile_start[w], end = m.tile_start[w + 1];
  for (int64_t e = m.start[i] + threadIdx.x % 32; e < m.start[i + 1] && first < end; e += 32) {
    const int32_t col = m.col[e];
    const int64_t tile = tile_of(to.segment, first, end, col / TILE_COLS);
    if (tile == end) continue;
    const struct tile_bit at = tile_bit_of((int)(i % TILE_ROWS), col % TILE_COLS);
    const int64_t strip = tile * TILE_STRIPS + at.word / STRIP_WORDS;
    const uint32_t *word = to.bits + strip * STRIP_WORDS;
    int before = __popc(word[at.word % STRIP_WORDS] & ((1u << at.bit) - 1));
    for (int j = 0; j < at.word % STRIP_WORDS; j++) before += __popc(word[j]);
    to.value[to.first[strip] + before] = m.value[e];
  }
}

constexpr int EACH = 8, SHARE = BLOCK * EACH; /* items of a thread, of a block */

/* Sum of x over the block's threads before this one; total: over all. */
static __device__ __forceinline__ int64_t sum_before(int64_t x, int64_t &total) {
  __shared__ int64_t sums[BLOCK];
  const int me = (int)threadIdx.x;
  sums[me] = x;
  __syncthreads();
  for (int o = 1; o < BLOCK; o *= 2) {
    const int64_t other = me >= o ? sums[me - o] : 0;
    __syncthreads();
    sums[me] += other;
    __syncthreads();
  }
  total = sums[BLOCK - 1];
  const int64_t before = sums[me] - x;
  __syncthreads();
  return before;
}

static __device__ __forceinline__ int64_t read_items(const int64_t *item, int64_t items, int64_t from,
                                                     int64_t (&x)[EACH]) {
  int64_t sum = 0;
#pragma unroll
  for (int i = 0; i < EACH; i++) sum += x[i] = from + i < items ? item[from + i] : 0;
  return sum;
}

/* share[b] = the sum of block b's items. */
static __global__ void __launch_bounds__(BLOCK)
    share_sums_kernel(const int64_t *item, int64_t items, int64_t *share) {
  int64_t x[EACH], total = 0;
  const int64_t from = (int64_t)blockIdx.x * SHARE + threadIdx.x * EACH;
  sum_before(read_items(item, items, from, x), total);
  if (threadIdx.x == 0) share[blockIdx.x] = total;
}

/* share[b] becomes the sum of those before; by one block. */
static __global__ void __launch_bounds__(BLOCK) add_up_shares_kernel(int64_t *share, int64_t shares) {
  int64_t carried = 0;
  for (int64_t first = 0; first < shares; first += BLOCK) {
    const int64_t i = first + threadIdx.x;
    int64_t total = 0;
    const int64_t before = sum_before(i < shares ? share[i] : 0, total);
    if (i < shares) share[i] = carried + before;
    carried += total;
  }
}

static __global__ void __launch_bounds__(BLOCK)
    add_up_kernel(int64_t *item, int64_t items, const int64_t *share) {
  int64_t x[EACH], total = 0;
  const int64_t from = (int64_t)blockIdx.x * SHARE + threadIdx.x * EACH;
  int64_t sum = sum_before(read_items(item, items, from, x), total) + share[blockIdx.x];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    if (from + i < items) item[from + i] = sum;
    sum += x[i];
  }
}

int cuda_tiles_build_add_up(struct kernels *k, int64_t *first, int64_t items, void *temporary,
                            size_t *bytes) {
  const unsigned blocks = blocks_of(items, SHARE);
  *bytes = blocks * sizeof(int64_t);
  if (!temporary || items == 0) return OK;
  share_sums_kernel<<<blocks, BLOCK, 0, cuda_stream(k)>>>(first, items, (int64_t *)temporary);
  TRY_LAUNCH();
  add_up_shares_kernel<<<1, BLOCK, 0, cuda_stream(k)>>>((int64_t *)temporary, blocks);
  TRY_LAUNCH();
  add_up_kernel<<<blocks, BLOCK, 0, cuda_stream(k)>>>(first, items, (const int64_t *)temporary);
  TRY_LAUNCH();
  return OK;
}

static int add_up(struct kernels *k, int64_t *first, int64_t items) {
  void *temporary = NULL;
  size_t bytes = 0;
  TRY(cuda_tiles_build_add_up(k, first, items, NULL, &bytes));
  TRY(device_alloc(k->device, (int64_t)bytes, &temporary, "scratch of a sum"));
  const int code = cuda_tiles_build_add_up(k, first, items, temporary, &bytes);
  device_release(k->device, temporary);
  return code;
}

int cuda_tiles_build_values(struct kernels *k, struct tiles_build *build, const struct tile_arrays *to) {
  const int64_t strips = to->count * TILE_STRIPS;
  const struct weights m = {build->start, build->tile_start, build->col, build->value, build->rows};
  if (to->count == 0) return OK;
  count_kernel<<<blocks_of(strips + 1, WARPS), BLOCK, 0, cuda_stream(k)>>>(to->bits, strips, to->first);
  TRY_LAUNCH();
  TRY(add_up(k, to->first, strips + 1));
  values_kernel<<<blocks_of(build->rows, WARPS), BLOCK, 0, cuda_stream(k)>>>(m, *to);
  TRY_LAUNCH();
  return OK;
}
