/* Blocks of a condensed matrix times X: what the kernels for whole windows and for column vectors share. A
 * warp takes a piece of a window by a panel of 8 WIDE columns of X. BLOCK says how a block's bits stand
 * (block_bit_of): its SIDE and BYTES, and for single rows
 *   row_bits(block, r)       a word with the bits of row r,
 *   column(b)                the column of bit b of that word,
 *   bits_before(block, r, b) how many bits of the block stand before it. */
#ifndef KERNELS_CUDA_LAYOUT_CONDENSED_MULTIPLY_CUH
#define KERNELS_CUDA_LAYOUT_CONDENSED_MULTIPLY_CUH

#include "kernels/cuda/common/bf16x2_split.cuh"
#include "kernels/cuda/layout/condensed.h"

constexpr int WARPS = 4; /* of a block of threads */

struct product {
  struct cuda_condensed a;
  float *sums;
  int64_t stride;
  const char *x;
  uint32_t x_bytes, plane_bytes; /* from row to row, from plane to plane */
  int32_t width;                 /* of X */
};

template <class BLOCK_, int WIDE_, int PLANES_, bool WEIGHTED_> struct panel {
  typedef BLOCK_ BLOCK;
  static constexpr int WIDE = WIDE_, PLANES = PLANES_, WORDS = WIDE / 2, COLUMNS = 8 * WIDE;
  static constexpr bool WEIGHTED = WEIGHTED_;
  static constexpr int FACTORS = WEIGHTED ? 2 : 1;        /* planes of the weights */
  static constexpr int STEP = 32 / BLOCK_::SIDE / PLANES; /* blocks whose rows are on their way together */
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* WIDE numbers of a row of X. */
static __device__ __forceinline__ void read_row(const char *from, uint32_t (&to)[4]) {
  const uint4 v = __ldg((const uint4 *)from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

static __device__ __forceinline__ void read_row(const char *from, uint32_t (&to)[2]) {
  const uint2 v = __ldg((const uint2 *)from);
  to[0] = v.x, to[1] = v.y;
}

template <class PANEL, int ROWS>
static __device__ __forceinline__ void read_rows(const struct product &op, const char *x,
                                                 const int (&ids)[ROWS],
                                                 uint32_t (&to)[PANEL::PLANES][ROWS][PANEL::WORDS]) {
#pragma unroll
  for (int p = 0; p < PANEL::PLANES; p++) {
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      read_row(x + (uint64_t)(uint32_t)ids[i] * op.x_bytes + p * op.plane_bytes, to[p][i]);
  }
}

/* Column `col` of X times row r of a block. */
template <class PANEL> static __device__ float sum_arcs(const struct product &op, int block, int r, int col) {
  typedef typename PANEL::BLOCK BLOCK;
  const uint8_t *bits = op.a.bits + (int64_t)block * BLOCK::BYTES;
  float sum = 0;
  for (uint32_t word = BLOCK::row_bits(bits, r); word; word &= word - 1) {
    const int b = __ffs(word) - 1;
    const int id = __ldg(op.a.col + (int64_t)block * BLOCK::SIDE + BLOCK::column(b));
    const bf16 *x = (const bf16 *)(op.x + (uint64_t)(uint32_t)id * op.x_bytes) + col;
    float value = (float)*x;
    if (PANEL::PLANES > 1) value += (float)x[op.plane_bytes / sizeof(bf16)];
    sum += PANEL::WEIGHTED
               ? value * __ldg(op.a.value + __ldg(op.a.first + block) + BLOCK::bits_before(bits, r, b))
               : value;
  }
  return sum;
}

/* Zeros times what is not finite spoil all rows of a window: sums that are not finite are taken again arc by
 * arc. */
template <class PANEL>
static __device__ __noinline__ void sum_again(const struct product &op, const struct window_piece &piece) {
  for (int i = (int)threadIdx.x % 32; i < PANEL::BLOCK::SIDE * PANEL::COLUMNS; i += 32) {
    const int r = i / PANEL::COLUMNS, col = (int)blockIdx.y * PANEL::COLUMNS + i % PANEL::COLUMNS;
    float *to = op.sums + ((int64_t)piece.place * PANEL::BLOCK::SIDE + r) * op.stride + col;
    if (col >= op.width || is_finite(*to)) continue;
    float sum = 0;
    for (int b = piece.first; b < piece.end; b++) sum += sum_arcs<PANEL>(op, b, r, col);
    *to = sum;
  }
}

/* By a warp: the piece that is its own, whose sums it writes. */
template <class PANEL> static __device__ __forceinline__ void multiply_piece(const struct product &op);

#endif

template <class PANEL>
static __global__ void __launch_bounds__(WARPS * 32)
    condensed_kernel(const __grid_constant__ struct product op) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  multiply_piece<PANEL>(op);
#endif
}

template <class BLOCK, int WIDE, int PLANES> static int launch(struct kernels *k, const struct product &op) {
  auto *kernel = op.a.value ? condensed_kernel<panel<BLOCK, WIDE, PLANES, true>>
                            : condensed_kernel<panel<BLOCK, WIDE, PLANES, false>>;
  const dim3 grid(blocks_of(op.a.pieces, WARPS), blocks_of(op.width, 8 * WIDE));
  kernel<<<grid, WARPS * 32, 0, cuda_stream(k)>>>(op);
  TRY_LAUNCH();
  return OK;
}

/* All pieces by all columns; X in two planes or in one. */
template <class BLOCK> static int launch_panels(struct kernels *k, const struct product &op) {
  if (op.plane_bytes > 0) return op.width <= 32 ? launch<BLOCK, 4, 2>(k, op) : launch<BLOCK, 8, 2>(k, op);
  return op.width <= 32 ? launch<BLOCK, 4, 1>(k, op) : launch<BLOCK, 8, 1>(k, op);
}

/* Of column vectors. */
int cuda_vectors_multiply(struct kernels *k, const struct product *op);

#endif
