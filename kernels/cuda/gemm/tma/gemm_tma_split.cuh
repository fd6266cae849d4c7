/* Boxes of floats (gemm_tma_boxes.cuh) cut into planes of bf16, hi and mid, that lie as bulk copies
 * leave bf16 and wgmma reads it; and columns of a box as rows of a left matrix. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_SPLIT_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_SPLIT_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_fragment.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_boxes.cuh"

/* Every TMA_FLUSH tiles teams that cut a tile together add their sums, rounded to nearest, to those in
 * memory, for tensor cores cut off. */
constexpr int TMA_FLUSH = 24;

/* The box of the ring that is `i` further than the first of a matrix's, of which there are `count`; `instead`
 * for one that is not there: boxes of the other team may be given back, and filled again, at any time. */
static __device__ __forceinline__ const unsigned char *
await_nth(const struct tma_product &p, const unsigned char *ring, struct ring_barriers &barriers, int first,
          int i, int count, const unsigned char *instead) {
  if (i >= count) return instead;
  const struct ring_place at = place_of_box(p, first + i);
  await_box(barriers, at);
  return ring + at.box * BOX;
}

/* A team gives back those of its two boxes, from number 2 `pair` on, that are there. */
static __device__ __forceinline__ void give_pair(const struct tma_product &p, struct ring_barriers &barriers,
                                                 int first, int pair, int count) {
  for (int i = 2 * pair; i < min(2 * pair + 2, count); i++) give_box(barriers, place_of_box(p, first + i));
}

/* Boxes of 64 columns of bf16 each. */
struct split_boxes {
  unsigned char *hi, *mid;
};

/* Where a row of a right matrix lies so that lane 4 g + q of a product has the columns 4 q to 4 q + 3 of each
 * 16 side by side, in blocks 2 j and 2 j + 1. */
static __device__ __forceinline__ int place_of_column(int col) {
  return col / 16 * 16 + col % 4 / 2 * 8 + col % 16 / 4 * 2 + col % 2;
}

/* A box of 64 rows by 32 columns becomes the left or the right half of boxes of planes, from their row
 * `first_row` on; by a team. A thread cuts eight columns of two rows: eight lanes in a sequence read and
 * write all banks. IS_RIGHT: rows are put as place_of_column has them. */
template <bool IS_RIGHT>
static __device__ __forceinline__ void cut_box(const unsigned char *box, const struct split_boxes &to,
                                               int first_row, int half) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % TEAM / 32, eight = lane % 4;
  const int of_eight = lane / 8 * 2 ^ (lane / 4 % 2 ? 5 : 0);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int row = (2 * warp + i) * 8 + of_eight;
    const float4 x = *(const float4 *)&chunk_of_box(box, row, 2 * eight),
                 y = *(const float4 *)&chunk_of_box(box, row, 2 * eight + 1);
    const struct bf16x2_split pair[4] = {split(x.x, x.y), split(x.z, x.w), split(y.x, y.y), split(y.z, y.w)};
    const int at = IS_RIGHT ? place_of_column(first_row + row) : first_row + row;
    chunk_of_box(to.hi, at, 4 * half + eight) = make_uint4(pair[0].hi, pair[1].hi, pair[2].hi, pair[3].hi);
    chunk_of_box(to.mid, at, 4 * half + eight) = make_uint4(pair[0].mid, pair[1].mid, pair[2].mid,
                                                            pair[3].mid);
  }
}

/* Four neighbours of a row, of box `box` of planes. */
static __device__ __forceinline__ void put_four(const struct split_boxes &to, int box, int row, int col,
                                                const float (&x)[4]) {
  const struct bf16x2_split pair[2] = {split(x[0], x[1]), split(x[2], x[3])};
  const int chunk = col / 8, word = col / 4 % 2;
  ((uint2 *)&chunk_of_box(to.hi + box * BOX, row, chunk))[word] = make_uint2(pair[0].hi, pair[1].hi);
  ((uint2 *)&chunk_of_box(to.mid + box * BOX, row, chunk))[word] = make_uint2(pair[0].mid, pair[1].mid);
}

/* 16 rows of 16 columns of a box as a left matrix of products, whose row g is column 2 g and g + 8 column 2 g
 * + 1; or zeros. */
static __device__ __forceinline__ void turn_columns(const unsigned char *box, int first_row, int first_col,
                                                    int lane, bool is_there, struct fragment &to) {
  const int g = lane / 4, row = first_row + lane % 4 * 2, chunk = first_col / 4 + g / 2;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const float2 x = ((const float2 *)&chunk_of_box(box, row + 8 * half, chunk))[g % 2],
                 y = ((const float2 *)&chunk_of_box(box, row + 8 * half + 1, chunk))[g % 2];
    const struct bf16x2_split even = split(x.x, y.x), odd = split(x.y, y.y);
    to.word[0][2 * half] = is_there ? even.hi : 0, to.word[1][2 * half] = is_there ? even.mid : 0;
    to.word[0][2 * half + 1] = is_there ? odd.hi : 0, to.word[1][2 * half + 1] = is_there ? odd.mid : 0;
  }
}

/* The sums of a warp's 16 turned columns, [16, 8 BLOCKS]: put there, or added to what is there, by the one
 * thread that ever does. Adding here is faster than in the L2 cache (red). */
template <int BLOCKS>
static __device__ __forceinline__ void add_turned_sums(float *to, bool adds, const float (&sum)[BLOCKS][4]) {
  constexpr int EACH = BLOCKS % 8 == 0 ? 8 : BLOCKS; /* on their way at a time */
  const int lane = threadIdx.x % 32;
  to += lane / 4 * 2 * 8 * BLOCKS + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2 * BLOCKS; i += EACH) {
    const int r = i / BLOCKS, first = i % BLOCKS;
    float *at = to + r * 8 * BLOCKS + 8 * first;
    float2 before[EACH] = {};
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      if (adds) before[j] = __ldcg((const float2 *)(at + 8 * j));
    }
#pragma unroll
    for (int j = 0; j < EACH; j++)
      *(float2 *)(at + 8 * j) = make_float2(before[j].x + sum[first + j][2 * r],
                                            before[j].y + sum[first + j][2 * r + 1]);
  }
}

#endif
