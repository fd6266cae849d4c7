/* C = A^T B: shapes, memory and launch of the kernels in gemm_splitk.cuh, gemm_tma_bf16_splitk.cuh and
 * gemm_tma_f32x3_splitk.cuh, and the sum of their parts. */
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/splitk/gemm_splitk.cuh"
#include "kernels/cuda/gemm/tma_bf16/gemm_tma_bf16_splitk.cuh"
#include "kernels/cuda/gemm/tma_f32x3/gemm_tma_f32x3_splitk.cuh"

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

static float factor_of(const struct gemm *op) {
  return op->factor ? (float)*op->factor : 1;
}

/* Shares of the rows: one for each multiprocessor and tile, of four parts at least. */
static int64_t shares_of(const struct cuda_state *state, int64_t rows, int64_t tiles, int64_t part) {
  const int64_t most = max((int64_t)1, state->multiprocessors / tiles);
  return min(most, (rows + 4 * part - 1) / (4 * part));
}

/* Shares that have rows: their size is rounded up, which may leave none for the last. */
static int64_t used_shares(int64_t rows, int64_t share) {
  return share > 0 ? (rows + share - 1) / share : 0;
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

/* Of one product alone. */
static int add_tiles(struct kernels *k, const struct tile_sum &tile) {
  struct share_sums sums = {};
  take_tiles(&sums, tile);
  return cuda_add_shares(k, &sums);
}

/* Whether bulk copies can bring both matrices, of bf16, and one of them is narrow enough. */
static bool can_be_tma_bf16(const struct gemm *op) {
  const int64_t narrow = min(op->c.rows, op->c.cols), wide = max(op->c.rows, op->c.cols);
  return narrow <= BOX_COLS && wide <= LEFT_COLS && op->a.rows > 0 && cuda_is_boxed(op->a) &&
         cuda_is_boxed(op->b);
}

template <int BLOCKS, int EACH>
static int run_tma_bf16(struct kernels *k, const struct gemm *op, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct tensor left = is_turned ? op->b : op->a, right = is_turned ? op->a : op->b;
  struct tma_bf16_splitk_maps maps;
  struct tma_bf16_splitk p = {};
  p.rows = left.rows;
  TRY(cuda_tma_map(left, BOX_ROWS, &maps.left));
  TRY(cuda_tma_map(right, BOX_ROWS, &maps.right));
  p.boxes = (int)blocks_of(left.cols, BOX_COLS);
  p.slots = min(MOST_SLOTS, (state->shared_bytes - TMA_ALIGNMENT) / part_bytes(p.boxes));
  p.share = blocks_of(blocks_of(p.rows, state->multiprocessors), TERMS) * (int64_t)TERMS;
  const int bytes = p.slots * part_bytes(p.boxes);
  const unsigned shares = blocks_of(p.rows, p.share);
  TRY(kernels_workspace(k, (int64_t)shares * p.boxes * BOX_COLS * 8 * BLOCKS * (int64_t)sizeof(float),
                        (void **)&p.partial));
  TRY_CUDA(cudaFuncSetAttribute(tma_bf16_splitk_kernel<BLOCKS, EACH>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY((pdl_launch(k, tma_bf16_splitk_kernel<BLOCKS, EACH>, shares, FED_THREADS, bytes, maps, p)));
  const struct tile_sum sum = {
      p.partial, shares,       1, 1, p.boxes * BOX_COLS, 8 * BLOCKS, is_turned, (bool)op->accumulate,
      op->c,     factor_of(op)};
  return add_tiles(k, sum);
}

template <class S> static int run_tma_f32x3(struct kernels *k, const struct gemm *op, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct tensor left = is_turned ? op->b : op->a, right = is_turned ? op->a : op->b;
  struct tma_f32x3_splitk_maps maps;
  struct tma_f32x3_splitk p = {};
  p.left = (int)left.cols;
  p.right = (int)right.cols;
  p.right_tiles = (int)blocks_of(right.cols, S::RIGHT);
  p.tiles = (int)blocks_of(left.cols, S::LEFT) * p.right_tiles;
  p.product.m = left.rows;
  p.product.ring = min(MOST_BOXES, (state->shared_bytes - TMA_ALIGNMENT - S::FIXED) / BOX);
  const int64_t most = shares_of(state, left.rows, p.tiles, BOX_ROWS / 2);
  p.share = blocks_of(blocks_of(left.rows, most), TERMS) * (int64_t)TERMS;
  const unsigned shares = blocks_of(left.rows, p.share);
  const int bytes = S::FIXED + p.product.ring * BOX;
  TRY(cuda_tma_map(left, BOX_ROWS, &maps.left));
  TRY(cuda_tma_map(right, BOX_ROWS, &maps.right));
  TRY(kernels_workspace(k, (int64_t)shares * p.tiles * S::LEFT * S::RIGHT * (int64_t)sizeof(float),
                        (void **)&p.partial));
  TRY_CUDA(
      cudaFuncSetAttribute(tma_f32x3_splitk_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY(pdl_launch(k, tma_f32x3_splitk_kernel<S>, shares * (unsigned)p.tiles, TWO_TEAMS_THREADS, bytes, maps,
                 p));
  const struct tile_sum sum = {p.partial, shares,       p.tiles,   p.right_tiles,
                               S::LEFT,   S::RIGHT,     is_turned, (bool)op->accumulate,
                               op->c,     factor_of(op)};
  return add_tiles(k, sum);
}

template <class T, class G> static int run(struct kernels *k, const struct gemm *op, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  struct sums_product p = {};
  p.left = is_turned ? op->b : op->a;
  p.right = is_turned ? op->a : op->b;
  p.right_tiles = (int)blocks_of(p.right.cols, G::COLS);
  p.tiles = (int)blocks_of(p.left.cols, LEFT_COLS) * p.right_tiles;
  p.aligned = cuda_is_aligned(op->a) && cuda_is_aligned(op->b);
  p.stages = min(4, (state->shared_bytes / 16 - 2 * G::CUT) / G::SLOT);
  const int bytes = (2 * G::CUT + p.stages * G::SLOT) * 16;
  const int64_t rows = p.left.rows, most = shares_of(state, rows, p.tiles, G::ROWS);
  p.share = most > 0 ? ((rows + most - 1) / most + G::ROWS - 1) / G::ROWS * G::ROWS : 0;
  const int64_t shares = used_shares(rows, p.share), tile = (int64_t)LEFT_COLS * G::COLS;
  TRY(kernels_workspace(k, shares * p.tiles * tile * (int64_t)sizeof(float), (void **)&p.partial));
  if (shares > 0) {
    const auto kernel = sums_kernel<T, G>;
    TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    TRY(pdl_launch(k, kernel, (unsigned)(shares * p.tiles), BLOCK, bytes, p));
  }
  const struct tile_sum sum = {p.partial, shares,       p.tiles,   p.right_tiles,
                               LEFT_COLS, G::COLS,      is_turned, (bool)op->accumulate,
                               op->c,     factor_of(op)};
  return add_tiles(k, sum);
}

/* What a tile of so many right columns takes of tensor cores, and the cutting of its left side besides. */
static int64_t cost(int64_t left, int64_t right, int64_t right_cols) {
  const int64_t tiles = (left + LEFT_COLS - 1) / LEFT_COLS * ((right + right_cols - 1) / right_cols);
  return tiles * (right_cols + 32);
}

/* Rows of a part: as many bytes in either type. */
template <class T> constexpr int ROWS = 128 / (int)sizeof(T);

/* The side and the width of tiles that cost least. */
template <class T> static int choose(struct kernels *k, const struct gemm *op) {
  static const int64_t widths[] = {128, 112, 48};
  int best = 0;
  int64_t least = INT64_MAX;
  for (int i = 0; i < 6; i++) {
    const bool is_turned = i % 2;
    const int64_t left = is_turned ? op->c.cols : op->c.rows, right = is_turned ? op->c.rows : op->c.cols;
    const int64_t taken = cost(left, right, widths[i / 2]);
    if (taken < least) {
      least = taken;
      best = i;
    }
  }
  if (best / 2 == 0) return run<T, tile_of<T, 16, ROWS<T>>>(k, op, best % 2);
  if (best / 2 == 1) return run<T, tile_of<T, 14, ROWS<T>>>(k, op, best % 2);
  return run<T, tile_of<T, 6, ROWS<T>>>(k, op, best % 2);
}

int cuda_gemm_splitk(struct kernels *k, const struct gemm *op) {
  const bool is_turned = op->c.cols > op->c.rows;
  if (can_be_tma_bf16(op)) {
    const bool narrow = min(op->c.rows, op->c.cols) <= 48,
               one = max(op->c.rows, op->c.cols) <= TEAMS * BOX_COLS;
    if (one) return narrow ? run_tma_bf16<6, 1>(k, op, is_turned) : run_tma_bf16<8, 1>(k, op, is_turned);
    return narrow ? run_tma_bf16<6, 2>(k, op, is_turned) : run_tma_bf16<8, 2>(k, op, is_turned);
  }
  if (op->a.dtype != F32) return choose<bf16>(k, op);
  if (op->a.rows == 0 || !cuda_is_aligned(op->a) || !cuda_is_aligned(op->b)) return choose<float>(k, op);
  const bool narrow = min(op->c.rows, op->c.cols) <= 48;
  if (max(op->c.rows, op->c.cols) <= 128)
    return narrow ? run_tma_f32x3<tma_f32x3_splitk_shape<1, 6>>(k, op, is_turned)
                  : run_tma_f32x3<tma_f32x3_splitk_shape<1, 16>>(k, op, is_turned);
  return narrow ? run_tma_f32x3<tma_f32x3_splitk_shape<2, 6>>(k, op, is_turned)
                : run_tma_f32x3<tma_f32x3_splitk_shape<2, 16>>(k, op, is_turned);
}
