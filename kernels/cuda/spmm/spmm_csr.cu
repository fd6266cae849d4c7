/* y_v = r_v sum_{u in row v} w_vu c_u X_u, with all that struct spmm adds, of plain compressed rows: GE-SpMM
 * (Huang, Dai, Wang, Yang, SC 2020). A warp has one row and 32 GROUPS columns, a thread every 32nd of them.
 *
 * Its two techniques are compile-time switches. CACHED, coalesced row caching: the warp reads 32 column ids
 * and weights at a time, one a thread, into shared memory and walks through them; without it every thread
 * reads each of them. GROUPS, coarse-grained warp merging: they serve so many groups of 32 columns at once.
 *
 * Bytes: each arc reads a row of X, from the caches or memory; ids are read width / (32 GROUPS) times, 4
 * bytes, with weights or column scales 8, by caching once a warp; row offsets as often, 16 bytes a row; the
 * result is written once. A row of a million arcs keeps one warp busy, however long that takes: so it was
 * published. Differing from the paper, sums of 32 entries are added up in double, which long rows need. */
#include "kernels/cuda/spmm/spmm_csr.cuh"

#include "kernels/cost/cost_csr.h"

constexpr int WARP = 32, ROWS = BLOCK / WARP; /* of a block, one a warp */
constexpr int AHEAD = 4;                      /* rows of X that are under way together */
static_assert(CSR_COLS == WARP, "a group has a column for each thread");

struct entry {
  uint32_t col;
  float factor;
};

static __device__ __forceinline__ struct entry read_entry(const struct csr_sums &op, int64_t at) {
  struct entry entry = {(uint32_t)__ldg(op.col + at), 1};
  if (op.value) entry.factor = __ldg(op.value + (op.value_id ? __ldg(op.value_id + at) : at));
  if (op.col_scale) entry.factor *= __ldg(op.col_scale + entry.col);
  return entry;
}

/* Adds up to AHEAD entries from `first` on, `left` of them, whose rows of X are under way together; behind
 * them the last one is read again, and adds nothing. cache: these, if CACHED; x: where each group's column of
 * this thread is in X's first row. */
template <class T, int GROUPS, bool CACHED>
static __device__ __forceinline__ void add_entries(const struct csr_sums &op, const char *const (&x)[GROUPS],
                                                   const struct entry *cache, int64_t first, int left,
                                                   float (&sum)[GROUPS]) {
  float factor[AHEAD];
  T value[AHEAD][GROUPS];
#pragma unroll
  for (int i = 0; i < AHEAD; i++) {
    const int at = min(i, left - 1);
    const struct entry entry = CACHED ? cache[at] : read_entry(op, first + at);
    factor[i] = entry.factor;
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
      value[i][g] = read_only((const T *)(x[g] + (uint64_t)entry.col * op.x_bytes));
  }
#pragma unroll
  for (int i = 0; i < AHEAD; i++) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) sum[g] = i < left ? fmaf(factor[i], (float)value[i][g], sum[g]) : sum[g];
  }
}

/* The same of up to 32 entries. */
template <class T, int GROUPS, bool CACHED>
static __device__ __forceinline__ void add_batch(const struct csr_sums &op, const char *const (&x)[GROUPS],
                                                 const struct entry *cache, int64_t first, int count,
                                                 float (&sum)[GROUPS]) {
#pragma unroll 1
  for (int i = 0; i < count; i += AHEAD)
    add_entries<T, GROUPS, CACHED>(op, x, cache + i, first + i, count - i, sum);
}

/* sum: of row i, by the whole warp together. */
template <class T, int GROUPS, bool CACHED>
static __device__ __forceinline__ void sum_row(const struct csr_sums &op, int64_t i,
                                               const char *const (&x)[GROUPS], struct entry *cache,
                                               double (&sum)[GROUPS]) {
  const int64_t end = __ldg(op.start + i + 1);
#pragma unroll 1
  for (int64_t at = __ldg(op.start + i); at < end; at += WARP) {
    const int count = (int)min((int64_t)WARP, end - at), lane = (int)threadIdx.x % WARP;
    float part[GROUPS] = {};
    if (CACHED) {
      __syncwarp();
      if (lane < count) cache[lane] = read_entry(op, at + lane);
      __syncwarp();
    }
    add_batch<T, GROUPS, CACHED>(op, x, cache, at, count, part);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) sum[g] += part[g];
  }
}

template <class T, int GROUPS, bool CACHED>
static __global__ void __launch_bounds__(BLOCK)
    csr_kernel(const __grid_constant__ struct csr_sums op,
               const __grid_constant__ struct spmm_epilogue epilogue) {
  __shared__ struct entry cache[CACHED ? ROWS : 1][WARP];
  const int warp = (int)threadIdx.x / WARP;
  const int64_t i = (int64_t)blockIdx.x * ROWS + warp;
  const int32_t col = op.first + ((int)blockIdx.y * GROUPS) * WARP + (int)threadIdx.x % WARP;
  pdl_launch_dependents();
  if (i >= op.rows) return;
  const char *x[GROUPS]; /* threads without a column read the last one */
#pragma unroll
  for (int g = 0; g < GROUPS; g++) x[g] = op.x + min(col + g * WARP, epilogue.width - 1) * (int64_t)sizeof(T);
  double sum[GROUPS] = {};
  sum_row<T, GROUPS, CACHED>(op, i, x, cache[CACHED ? warp : 0], sum);
  const int32_t row = op.row ? __ldg(op.row + i) : (int32_t)i;
  const float scale = op.bare && epilogue.row_scale ? epilogue.row_scale[row] : 1;
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    float total[1] = {(float)sum[g]};
    if (col + g * WARP >= epilogue.width) continue;
    if (op.bare)
      *at<T>(epilogue.y, row, col + g * WARP) = (T)(scale * total[0]);
    else
      epilogue_row<T>(epilogue, false, row, col + g * WARP, total);
  }
}

typedef void kernel_of_csr(const struct csr_sums, const struct spmm_epilogue);

template <class T> static kernel_of_csr *choose(int groups, bool cached) {
  if (groups == 4) return cached ? csr_kernel<T, 4, true> : csr_kernel<T, 4, false>;
  if (groups == 2) return cached ? csr_kernel<T, 2, true> : csr_kernel<T, 2, false>;
  return cached ? csr_kernel<T, 1, true> : csr_kernel<T, 1, false>;
}

int cuda_csr_sums(struct kernels *k, const struct csr_sums *sums, enum dtype dtype,
                  const struct cuda_csr *how, const struct spmm_epilogue *epilogue) {
  const int32_t width = epilogue->width - sums->first;
  const int groups = how->groups > 0 ? how->groups : cost_csr_groups(width);
  auto *kernel = dtype == BF16 ? choose<bf16>(groups, !how->uncached) : choose<float>(groups, !how->uncached);
  const dim3 grid(blocks_of(sums->rows, ROWS), blocks_of(width, groups * WARP));
  if (sums->rows == 0 || width <= 0) return OK;
  kernel<<<grid, BLOCK, 0, cuda_stream(k)>>>(*sums, *epilogue);
  TRY_LAUNCH();
  return OK;
}
