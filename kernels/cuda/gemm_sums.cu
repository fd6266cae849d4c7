/* C = A^T B: shapes, memory and launch of the kernels in gemm_sums.cuh, gemm_bulk_sums.cuh and
 * gemm_ring_sums.cuh, and the sum of their parts. */
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/gemm_bulk_sums.cuh"
#include "kernels/cuda/gemm_ring_sums.cuh"
#include "kernels/cuda/gemm_sums.cuh"

constexpr int LANES = 8; /* that add the shares of an element */

static __global__ void __launch_bounds__(32 * LANES)
    add_tiles_kernel(const __grid_constant__ struct tile_sum p) {
  __shared__ float shared[LANES][32];
  const int64_t i = blockIdx.y, j = (int64_t)blockIdx.x * 32 + threadIdx.x; /* left, right */
  const int64_t row = p.is_turned ? j : i, col = p.is_turned ? i : j;
  const bool is_there = row < p.c.rows && col < p.c.cols;
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
    *c = __float2bfloat16(p.accumulate ? __bfloat162float(*c) + sum : sum);
  }
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

int cuda_add_tiles(struct kernels *k, const struct tile_sum *sum, int64_t left, int64_t right) {
  add_tiles_kernel<<<dim3(blocks_of(right, 32), (unsigned)left), dim3(32, LANES), 0, cuda_stream(k)>>>(*sum);
  TRY_LAUNCH();
  return OK;
}

/* Whether bulk copies can bring both matrices, of bf16, and one of them is narrow enough. */
static bool can_be_bulk(const struct gemm *op) {
  const int64_t narrow = min(op->c.rows, op->c.cols), wide = max(op->c.rows, op->c.cols);
  return narrow <= BOX_COLS && wide <= LEFT_COLS && op->a.rows > 0 && cuda_is_boxed(op->a) &&
         cuda_is_boxed(op->b);
}

template <int BLOCKS, int EACH>
static int run_bulk(struct kernels *k, const struct gemm *op, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct tensor left = is_turned ? op->b : op->a, right = is_turned ? op->a : op->b;
  struct bulk_sums_maps maps;
  struct bulk_sums p = {};
  p.rows = left.rows;
  TRY(cuda_bulk_map(left, BOX_ROWS, &maps.left));
  TRY(cuda_bulk_map(right, BOX_ROWS, &maps.right));
  p.boxes = (int)blocks_of(left.cols, BOX_COLS);
  p.slots = min(MOST_SLOTS, (state->shared_bytes - BULK_ALIGNMENT) / part_bytes(p.boxes));
  p.share = blocks_of(blocks_of(p.rows, state->multiprocessors), TERMS) * (int64_t)TERMS;
  const int bytes = p.slots * part_bytes(p.boxes);
  const unsigned shares = blocks_of(p.rows, p.share);
  TRY(kernels_workspace(k, (int64_t)shares * p.boxes * BOX_COLS * 8 * BLOCKS * (int64_t)sizeof(float),
                        (void **)&p.partial));
  TRY_CUDA(cudaFuncSetAttribute(bulk_sums_kernel<BLOCKS, EACH>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                bytes));
  bulk_sums_kernel<BLOCKS, EACH><<<shares, FED_THREADS, (size_t)bytes, cuda_stream(k)>>>(maps, p);
  TRY_LAUNCH();
  const struct tile_sum sum = {
      p.partial, shares,       1, 1, p.boxes * BOX_COLS, 8 * BLOCKS, is_turned, (bool)op->accumulate,
      op->c,     factor_of(op)};
  return cuda_add_tiles(k, &sum, left.cols, right.cols);
}

template <class S> static int run_ring(struct kernels *k, const struct gemm *op, bool is_turned) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const struct tensor left = is_turned ? op->b : op->a, right = is_turned ? op->a : op->b;
  struct ring_sums_maps maps;
  struct ring_sums p = {};
  p.left = (int)left.cols;
  p.right = (int)right.cols;
  p.right_tiles = (int)blocks_of(right.cols, S::RIGHT);
  p.tiles = (int)blocks_of(left.cols, S::LEFT) * p.right_tiles;
  p.product.m = left.rows;
  p.product.ring = min(MOST_BOXES, (state->shared_bytes - BULK_ALIGNMENT - S::FIXED) / BOX);
  const int64_t most = shares_of(state, left.rows, p.tiles, BOX_ROWS / 2);
  p.share = blocks_of(blocks_of(left.rows, most), TERMS) * (int64_t)TERMS;
  const unsigned shares = blocks_of(left.rows, p.share);
  const int bytes = S::FIXED + p.product.ring * BOX;
  TRY(cuda_bulk_map(left, BOX_ROWS, &maps.left));
  TRY(cuda_bulk_map(right, BOX_ROWS, &maps.right));
  TRY(kernels_workspace(k, (int64_t)shares * p.tiles * S::LEFT * S::RIGHT * (int64_t)sizeof(float),
                        (void **)&p.partial));
  TRY_CUDA(cudaFuncSetAttribute(ring_sums_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  ring_sums_kernel<S>
      <<<shares *(unsigned)p.tiles, TWO_TEAMS_THREADS, (size_t)bytes, cuda_stream(k)>>>(maps, p);
  TRY_LAUNCH();
  const struct tile_sum sum = {p.partial, shares,       p.tiles,   p.right_tiles,
                               S::LEFT,   S::RIGHT,     is_turned, (bool)op->accumulate,
                               op->c,     factor_of(op)};
  return cuda_add_tiles(k, &sum, left.cols, right.cols);
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
    kernel<<<(unsigned)(shares * p.tiles), BLOCK, (size_t)bytes, cuda_stream(k)>>>(p);
    TRY_LAUNCH();
  }
  const struct tile_sum sum = {p.partial, shares,       p.tiles,   p.right_tiles,
                               LEFT_COLS, G::COLS,      is_turned, (bool)op->accumulate,
                               op->c,     factor_of(op)};
  return cuda_add_tiles(k, &sum, p.left.cols, p.right.cols);
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

int cuda_gemm_sums(struct kernels *k, const struct gemm *op) {
  const bool is_turned = op->c.cols > op->c.rows;
  if (can_be_bulk(op)) {
    const bool narrow = min(op->c.rows, op->c.cols) <= 48,
               one = max(op->c.rows, op->c.cols) <= TEAMS * BOX_COLS;
    if (one) return narrow ? run_bulk<6, 1>(k, op, is_turned) : run_bulk<8, 1>(k, op, is_turned);
    return narrow ? run_bulk<6, 2>(k, op, is_turned) : run_bulk<8, 2>(k, op, is_turned);
  }
  if (op->a.dtype != F32) return choose<bf16>(k, op);
  if (op->a.rows == 0 || !cuda_is_aligned(op->a) || !cuda_is_aligned(op->b)) return choose<float>(k, op);
  const bool narrow = min(op->c.rows, op->c.cols) <= 48;
  if (max(op->c.rows, op->c.cols) <= 128)
    return narrow ? run_ring<ring_sums_shape<1, 6>>(k, op, is_turned)
                  : run_ring<ring_sums_shape<1, 16>>(k, op, is_turned);
  return narrow ? run_ring<ring_sums_shape<2, 6>>(k, op, is_turned)
                : run_ring<ring_sums_shape<2, 16>>(k, op, is_turned);
}
