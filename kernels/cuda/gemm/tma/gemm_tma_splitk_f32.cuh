/* C = A^T B of floats for tall A [rows, m] and B [rows, n], gradients of weights, where the rows come by bulk
 * copies: the kernel.
 *
 * A block has a tile of C, up to 256 columns of one matrix ("left") by 128 of the other ("right"), and a
 * share of the rows, in tiles of 64 that one warp brings as boxes through a ring (gemm_tma_boxes.cuh).
 * Both teams cut the right side into planes, of which there are two by turns, while the products of the tile
 * before go on; each multiplies every other 64 of the left columns, turned and cut in registers, with all of
 * them. The sums of all shares are added afterwards, in order. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_SPLITK_F32_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_SPLITK_F32_CUH

#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_split.cuh"

struct tma_splitk_maps {
  CUtensorMap left, right;
};

struct tma_splitk {
  struct tma_product product; /* m and ring alone */
  int64_t share;              /* rows of a block: a multiple of TERMS */
  int left, right;            /* columns */
  int right_tiles, tiles;     /* of C */
  float *partial;             /* [shares, tiles, left columns of a tile, right columns] */
};

/* Of a tile: 128 EACH left columns, 8 BLOCKS right ones. */
template <int EACH_, int BLOCKS_> struct tma_splitk_shape {
  static constexpr int EACH = EACH_, BLOCKS = BLOCKS_, LEFT = 128 * EACH, RIGHT = 8 * BLOCKS;
  static constexpr int PLANE = (RIGHT + BOX_COLS - 1) / BOX_COLS * BOX, FIXED = 4 * PLANE; /* bytes */
};

/* What of the matrices belongs to the block: its rows in tiles, and boxes of its columns. */
struct sums_share {
  int64_t begin, end;
  int tiles, first_left, first_right, left_boxes, right_boxes;
};

template <class S>
static __device__ __forceinline__ struct sums_share sums_share_of(const struct tma_splitk &p) {
  const int tile = blockIdx.x % p.tiles, left = tile / p.right_tiles * S::LEFT,
            right = tile % p.right_tiles * S::RIGHT;
  const int64_t begin = blockIdx.x / p.tiles * p.share, end = min(begin + p.share, p.product.m);
  return {begin,
          end,
          (int)((end - begin + BOX_ROWS - 1) / BOX_ROWS),
          left,
          right,
          (min(S::LEFT, p.left - left) + TMA_COLS<float> - 1) / TMA_COLS<float>,
          (min(S::RIGHT, p.right - right) + TMA_COLS<float> - 1) / TMA_COLS<float>};
}

static __device__ __forceinline__ void feed_sums(const struct tma_splitk &p,
                                                 const struct tma_splitk_maps &maps,
                                                 const struct sums_share &share, unsigned char *ring,
                                                 struct ring_barriers &barriers) {
  struct ring_place at = {0, 0};
  for (int tile = 0; tile < share.tiles; tile++) {
    const int64_t row = share.begin + (int64_t)tile * BOX_ROWS;
    for (int i = 0; i < share.right_boxes; i++)
      feed_box(p.product, &maps.right, ring, barriers, at, BOX_ROWS, share.first_right + i * TMA_COLS<float>,
               row);
    for (int i = 0; i < share.left_boxes; i++)
      feed_box(p.product, &maps.left, ring, barriers, at, BOX_ROWS, share.first_left + i * TMA_COLS<float>,
               row);
  }
}

/* Both teams cut the right boxes, from number `first` of the ring on. */
static __device__ __forceinline__ void cut_right_boxes(const struct tma_product &p, const unsigned char *ring,
                                                       struct ring_barriers &barriers, int team, int first,
                                                       int count, const struct split_boxes &to) {
  for (int i = team; i < count; i += TEAMS) {
    const unsigned char *box = await_nth(p, ring, barriers, first, i, count, NULL);
    cut_box<false>(box, {to.hi + i / 2 * BOX, to.mid + i / 2 * BOX}, 0, i % 2);
    give_box(barriers, place_of_box(p, first + i));
  }
}

/* sum[e] += the team's left columns, of boxes from number `first` of the ring on, times the planes. */
template <class S>
static __device__ __forceinline__ void multiply_left(const struct tma_product &p, const unsigned char *ring,
                                                     struct ring_barriers &barriers, int team, int first,
                                                     int count, const struct split_boxes &right, int steps,
                                                     bool adds, float (&sum)[S::EACH][S::BLOCKS][4]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % TEAM / 32;
  const uint64_t hi = boxed_matrix(shared_address(right.hi), BOX),
                 mid = boxed_matrix(shared_address(right.mid), BOX);
  const unsigned char *box[S::EACH];
  struct fragment a[2][S::EACH];
#pragma unroll
  for (int e = 0; e < S::EACH; e++)
    box[e] = await_nth(p, ring, barriers, first, 2 * (TEAMS * e + team) + warp / 2, count, right.hi);
#pragma unroll
  for (int s = 0; s < BOX_ROWS / TERMS; s++) {
    const int along = s * TERMS * BOX_ROW_BYTES;
    if (s > 1) wait_for_products<1>();
#pragma unroll
    for (int e = 0; e < S::EACH; e++)
      turn_columns(box[e], s * TERMS, warp % 2 * 16, lane, s < steps && box[e] != right.hi, a[s % 2][e]);
    open_products();
#pragma unroll
    for (int e = 0; e < S::EACH; e++) {
      multiply<true>(sum[e], a[s % 2][e].word[1], further(hi, along), adds || s > 0);
      multiply<true>(sum[e], a[s % 2][e].word[0], further(mid, along), 1);
      multiply<true>(sum[e], a[s % 2][e].word[0], further(hi, along), 1);
    }
    close_products();
  }
#pragma unroll
  for (int e = 0; e < S::EACH; e++) give_pair(p, barriers, first, TEAMS * e + team, count);
}

template <class S>
static __device__ __forceinline__ void flush_left(const struct tma_splitk &p, int team, bool adds,
                                                  float (&sum)[S::EACH][S::BLOCKS][4]) {
  float *tile = p.partial + (int64_t)blockIdx.x * S::LEFT * S::RIGHT;
  wait_for_products<0>();
#pragma unroll
  for (int e = 0; e < S::EACH; e++) {
    hold(sum[e]);
    add_turned_sums(tile + ((TEAMS * e + team) * 64 + threadIdx.x % TEAM / 32 * 16) * S::RIGHT, adds, sum[e]);
  }
}

template <class S>
static __device__ __forceinline__ void take_sums(const struct tma_splitk &p, const struct sums_share &share,
                                                 unsigned char *ring, struct ring_barriers &barriers,
                                                 int team) {
  const int each = share.right_boxes + share.left_boxes;
  unsigned char *planes = ring + p.product.ring * BOX;
  for (int begin = 0; begin < share.tiles; begin += TMA_FLUSH) {
    float sum[S::EACH][S::BLOCKS][4];
    for (int i = begin; i < min(begin + TMA_FLUSH, share.tiles); i++) {
      const struct split_boxes right = {planes + i % 2 * 2 * S::PLANE, planes + (i % 2 * 2 + 1) * S::PLANE};
      const int64_t rows = share.end - share.begin - (int64_t)i * BOX_ROWS;
      const int steps = (int)(min((int64_t)BOX_ROWS, rows) + TERMS - 1) / TERMS;
      cut_right_boxes(p.product, ring, barriers, team, i * each, share.right_boxes, right);
      show_to_products();
      wait_for_products<0>(); /* of the tile before: its planes are the next to be written */
      meet_both();
      multiply_left<S>(p.product, ring, barriers, team, i * each + share.right_boxes, share.left_boxes, right,
                       steps, i > begin, sum);
    }
    flush_left<S>(p, team, begin > 0, sum);
  }
}

template <class S>
static __global__ void __launch_bounds__(TWO_TEAMS_THREADS, 1)
    tma_splitk_kernel(const __grid_constant__ struct tma_splitk_maps maps,
                      const __grid_constant__ struct tma_splitk p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char boxes[];
  __shared__ struct ring_barriers barriers;
  const struct sums_share share = sums_share_of<S>(p);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  if (threadIdx.x == 0) open_ring(barriers, p.product.ring);
  pdl_prologue();
  __syncthreads();
  if (team < TEAMS) {
    take_registers<TWO_TEAMS_REGISTERS>();
    take_sums<S>(p, share, boxes, barriers, team);
  } else {
    leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_sums(p, maps, share, boxes, barriers);
  }
#endif
}

#endif
