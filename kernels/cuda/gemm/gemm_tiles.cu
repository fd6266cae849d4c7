/* The sum of what shares of the rows left, in one kernel: gemm_tiles.cuh. */
#include "kernels/cuda/gemm/gemm_tiles.cuh"

#include "kernels/cuda/common/vec.cuh"

constexpr int COLS = 32, LANES = 8; /* of a block: columns, and threads that add the shares of an element */

/* The blocks of a launch: first those of each sum of tiles, then those of the columns. */
struct share_blocks {
  struct share_sums sums;
  unsigned end[share_sums::MOST];
};

static __host__ __device__ __forceinline__ int64_t right_of(const struct tile_sum &p) {
  return p.is_turned ? p.c.rows : p.c.cols;
}

static __device__ __forceinline__ void add_tile(const struct tile_sum &p, unsigned block) {
  __shared__ float shared[LANES][COLS];
  const unsigned across = (unsigned)((right_of(p) + COLS - 1) / COLS);
  const int64_t i = block / across, j = (int64_t)(block % across) * COLS + threadIdx.x; /* left, right */
  const int64_t row = p.is_turned ? j : i, col = p.is_turned ? i : j;
  const bool is_there = j < right_of(p);
  const int64_t tile = i / p.left_cols * p.right_tiles + j / p.right_cols,
                size = (int64_t)p.left_cols * p.right_cols;
  const float *from = p.partial + tile * size + i % p.left_cols * p.right_cols + j % p.right_cols;
  float sum = 0;
#pragma unroll 4
  for (int64_t s = threadIdx.y; s < p.shares; s += LANES) sum += is_there ? from[s * p.tiles * size] : 0;
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || !is_there) return;
  for (int l = 1; l < LANES; l++) sum += shared[l][threadIdx.x];
  sum *= p.factor;
  if (p.c.dtype == F32) {
    float *c = row_of(p.c, row) + col;
    *c = p.accumulate ? *c + sum : sum;
  } else {
    bf16 *c = row_of<bf16>(p.c, row) + col;
    *c = (bf16)(p.accumulate ? (float)*c + sum : sum);
  }
}

static __device__ __forceinline__ void add_columns(const struct share_sums &p, unsigned block) {
  __shared__ double shared[LANES][COLS];
  const int64_t col = (int64_t)block * COLS + threadIdx.x;
  double sum = 0;
#pragma unroll 4
  for (int64_t s = threadIdx.y; s < p.parts; s += LANES)
    sum += col < p.cols ? p.partial[s * p.cols + col] : 0;
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || col >= p.cols) return;
  for (int l = 1; l < LANES; l++) sum += shared[l][threadIdx.x];
  p.out[col] = (float)sum;
}

static __global__ void __launch_bounds__(COLS *LANES)
    add_shares_kernel(const __grid_constant__ struct share_blocks p) {
  pdl_prologue();
  unsigned begin = 0;
  for (int i = 0; i < p.sums.tiles; i++) {
    if (blockIdx.x < p.end[i]) return add_tile(p.sums.tile[i], blockIdx.x - begin);
    begin = p.end[i];
  }
  add_columns(p.sums, blockIdx.x - begin);
}

int cuda_add_shares(struct kernels *k, const struct share_sums *sums) {
  struct share_blocks p = {};
  unsigned blocks = 0;
  p.sums = *sums;
  for (int i = 0; i < sums->tiles; i++) {
    const struct tensor c = sums->tile[i].c;
    blocks += (unsigned)(sums->tile[i].is_turned ? c.cols : c.rows) *
              blocks_of(right_of(sums->tile[i]), COLS);
    p.end[i] = blocks;
  }
  if (sums->partial) blocks += blocks_of(sums->cols, COLS);
  return blocks > 0 ? pdl_launch(k, add_shares_kernel, blocks, dim3(COLS, LANES), 0, p) : OK;
}
