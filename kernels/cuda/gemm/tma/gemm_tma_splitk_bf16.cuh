/* C = A^T B of bf16 for tall A [rows, m] and B [rows, n], gradients of weights, where the rows come by bulk
 * copies: the kernel, for at most 64 columns of one matrix ("right") and any number of the other ("left").
 *
 * A block has up to 256 left columns (a tile) and a share of the rows. One thread brings them, in parts of
 * 64, into a ring of slots, from where tensor cores read them as they lie: each of two teams of four warps
 * takes EACH boxes of 64 left columns, every other one. Every TMA_BF16_FLUSH rows the sums are added, rounded
 * to nearest, to totals, for tensor cores cut off; the totals of all shares are added afterwards, in order.
 */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_SPLITK_BF16_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_SPLITK_BF16_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

constexpr int TMA_BF16_FLUSH = 512;

struct tma_bf16_splitk_maps {
  CUtensorMap left, right;
};

struct tma_bf16_splitk {
  int64_t rows, share; /* share: a multiple of TERMS */
  int tiles, boxes;    /* of left columns; boxes: of a tile */
  int slots;
  float *partial; /* [shares, tiles, left columns of a tile, right columns] */
};

static __host__ __device__ __forceinline__ int part_bytes(int boxes) {
  return (boxes + 1) * BOX;
}

/* The rows of this block, and how many of its parts of 64 there are. */
struct block_share {
  int64_t begin, end;
  int parts;
};

static __device__ __forceinline__ struct block_share share_of_block(const struct tma_bf16_splitk &p) {
  const int64_t begin = blockIdx.x / p.tiles * p.share, end = min(begin + p.share, p.rows);
  return {begin, end, (int)((end - begin + BOX_ROWS - 1) / BOX_ROWS)};
}

static __device__ __forceinline__ void feed_parts(const struct tma_bf16_splitk &p,
                                                  const struct tma_bf16_splitk_maps &maps,
                                                  const struct block_share &share, unsigned char *slots,
                                                  struct tma_barriers &barriers) {
  const int first = (int)(blockIdx.x % p.tiles) * p.boxes;
  for (int i = 0; i < share.parts; i++) {
    const int slot = i % p.slots, row = (int)share.begin + i * BOX_ROWS;
    unsigned char *to = slots + slot * part_bytes(p.boxes);
    uint64_t *full = &barriers.full[slot];
    if (i >= p.slots) barrier_wait(&barriers.empty[slot], (i / p.slots - 1) & 1);
    barrier_expect(full, (uint32_t)part_bytes(p.boxes));
    copy_box(to, &maps.right, full, 0, row);
    for (int b = 0; b < p.boxes; b++)
      copy_box(to + (1 + b) * BOX, &maps.left, full, (first + b) * BOX_COLS, row);
  }
}

/* sum[b] (+)= the team's box b of a part, turned, times its right box; a box that is not there goes by as if
 * it were the last. */
template <int BLOCKS, int EACH>
static __device__ __forceinline__ void multiply_part(const struct tma_bf16_splitk &p,
                                                     const unsigned char *part, int team, int steps,
                                                     bool adds, float (&sum)[EACH][BLOCKS][4]) {
  const uint64_t right = boxed_matrix(shared_address(part), 0);
#pragma unroll 1
  for (int s = 0; s < steps; s++) {
    const int along = s * TERMS * BOX_ROW_BYTES;
    open_products();
#pragma unroll
    for (int b = 0; b < EACH; b++) {
      const uint64_t left = boxed_matrix(shared_address(part + (1 + min(team + 2 * b, p.boxes - 1)) * BOX),
                                         0);
      multiply<true, true>(sum[b], further(left, along), further(right, along), adds || s > 0);
    }
    close_products();
  }
}

template <int BLOCKS, int EACH>
static __device__ __forceinline__ void flush_sums(float (&sum)[EACH][BLOCKS][4],
                                                  float (&total)[EACH][BLOCKS][4]) {
#pragma unroll
  for (int b = 0; b < EACH; b++) {
#pragma unroll
    for (int i = 0; i < 4 * BLOCKS; i++) total[b][i / 4][i % 4] += sum[b][i / 4][i % 4];
  }
}

/* A lane's totals: of left columns v and v + 8 the right ones 8 j + 2 q and its neighbour. */
template <int BLOCKS, int EACH>
static __device__ __forceinline__ void write_totals(const struct tma_bf16_splitk &p, int team,
                                                    const float (&total)[EACH][BLOCKS][4]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % TEAM / 32;
  float *partial = p.partial + (int64_t)blockIdx.x * p.boxes * BOX_COLS * 8 * BLOCKS;
#pragma unroll
  for (int b = 0; b < EACH; b++) {
    const int v = (team + 2 * b) * BOX_COLS + warp * 16 + lane / 4;
    if (team + 2 * b >= p.boxes) break;
    float *to = partial + v * 8 * BLOCKS + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < BLOCKS; j++) {
      *(float2 *)(to + 8 * j) = make_float2(total[b][j][0], total[b][j][1]);
      *(float2 *)(to + 8 * 8 * BLOCKS + 8 * j) = make_float2(total[b][j][2], total[b][j][3]);
    }
  }
}

template <int BLOCKS, int EACH>
static __device__ __forceinline__ void take_parts(const struct tma_bf16_splitk &p,
                                                  const struct block_share &share, const unsigned char *slots,
                                                  struct tma_barriers &barriers, int team) {
  constexpr int PARTS = TMA_BF16_FLUSH / BOX_ROWS;
  float sum[EACH][BLOCKS][4], total[EACH][BLOCKS][4] = {};
  for (int i = 0; i < share.parts; i++) {
    const int slot = i % p.slots;
    const int64_t rows = share.end - share.begin - (int64_t)i * BOX_ROWS;
    const int steps = (int)(min((int64_t)BOX_ROWS, rows) + TERMS - 1) / TERMS;
    barrier_wait(&barriers.full[slot], i / p.slots & 1);
    multiply_part<BLOCKS, EACH>(p, slots + slot * part_bytes(p.boxes), team, steps, i % PARTS > 0, sum);
    wait_for_products<0>();
#pragma unroll
    for (int b = 0; b < EACH; b++) hold(sum[b]);
    if (threadIdx.x % 32 == 0) barrier_arrive(&barriers.empty[slot]);
    if (i % PARTS == PARTS - 1 || i == share.parts - 1) flush_sums(sum, total);
  }
  write_totals<BLOCKS, EACH>(p, team, total);
}

template <int BLOCKS, int EACH>
static __global__ void __launch_bounds__(FED_THREADS, 1)
    tma_bf16_splitk_kernel(const __grid_constant__ struct tma_bf16_splitk_maps maps,
                           const __grid_constant__ struct tma_bf16_splitk p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char slots[];
  __shared__ struct tma_barriers barriers;
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  const struct block_share share = share_of_block(p);
  if (threadIdx.x == 0) open_barriers(barriers, p.slots, TEAMS * TEAM / 32);
  pdl_prologue();
  __syncthreads();
  if (team < TEAMS)
    take_parts<BLOCKS, EACH>(p, share, slots, barriers, team);
  else if (threadIdx.x % 32 == 0)
    feed_parts(p, maps, share, slots, barriers);
#endif
}

#endif
