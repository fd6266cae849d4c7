/* B of floats, cut into the panel that products read (gemm_fragment.cuh). */
#ifndef KERNELS_CUDA_GEMM_RING_PANEL_CUH
#define KERNELS_CUDA_GEMM_RING_PANEL_CUH

#include "kernels/cuda/gemm_fragment.cuh"
#include "kernels/cuda/gemm_ring_boxes.cuh"

/* Columns [col, col + 4) of a row of B as it lies in memory; 0 where there are none. */
static __device__ __forceinline__ void load_b(const struct ring_product &p, int row, int col, float (&x)[4]) {
  const int rows = p.transpose_b ? p.n : p.k, cols = p.transpose_b ? p.k : p.n;
  const int n = row < rows ? cols - col : 0;
  load(p.b + (n > 0 ? row * p.b_stride + col : 0), 4, true, x);
#pragma unroll
  for (int j = 0; j < 4; j++) x[j] = j < n ? x[j] : 0;
}

/* Eight terms of column `col` of the block's in half of a step: both of its pieces. */
template <int BLOCKS>
static __device__ __forceinline__ void put_terms(uint4 *panel, int step, int half, int col,
                                                 const float (&x)[8]) {
  const int block = col / 16 * 2 + col % 4 / 2, column = col % 16 / 4 * 2 + col % 2;
  uint4 *to = panel + step * 32 * BLOCKS + half * 8 * BLOCKS + block * 8 + column;
  struct pieces pair[4];
#pragma unroll
  for (int q = 0; q < 4; q++) pair[q] = split(x[2 * q], x[2 * q + 1]);
  to[0] = make_uint4(pair[0].hi, pair[1].hi, pair[2].hi, pair[3].hi);
  to[16 * BLOCKS] = make_uint4(pair[0].mid, pair[1].mid, pair[2].mid, pair[3].mid);
}

/* Four columns of half a step, whose terms are in rows of B. */
template <int BLOCKS>
static __device__ __forceinline__ void write_four(const struct ring_product &p, int first_col, int i,
                                                  uint4 *panel) {
  const int col = i % (2 * BLOCKS) * 4, half = i / (2 * BLOCKS) % 2, step = i / (4 * BLOCKS);
  float row[8][4];
#pragma unroll
  for (int t = 0; t < 8; t++) load_b(p, step * TERMS + t / 2 * 4 + half * 2 + t % 2, first_col + col, row[t]);
#pragma unroll
  for (int c = 0; c < 4; c++) {
    const float x[8] = {row[0][c], row[1][c], row[2][c], row[3][c],
                        row[4][c], row[5][c], row[6][c], row[7][c]};
    put_terms<BLOCKS>(panel, step, half, col + c, x);
  }
}

/* A step of one column, whose terms are in a row of B. */
template <int BLOCKS>
static __device__ __forceinline__ void write_column(const struct ring_product &p, int first_col, int i,
                                                    uint4 *panel) {
  const int col = i % (8 * BLOCKS), step = i / (8 * BLOCKS);
  float four[4][4];
#pragma unroll
  for (int q = 0; q < 4; q++) load_b(p, first_col + col, step * TERMS + q * 4, four[q]);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int t = half * 2;
    const float x[8] = {four[0][t], four[0][t + 1], four[1][t], four[1][t + 1],
                        four[2][t], four[2][t + 1], four[3][t], four[3][t + 1]};
    put_terms<BLOCKS>(panel, step, half, col, x);
  }
}

/* By all teams. */
template <int BLOCKS>
static __device__ __forceinline__ void write_ring_panel(const struct ring_product &p, int first_col,
                                                        uint4 *panel) {
  constexpr int THREADS = RING_TEAMS<BLOCKS> * TEAM;
  const int steps = 2 * p.depth, items = steps * (p.transpose_b ? 8 : 4) * BLOCKS;
  if (p.transpose_b) {
#pragma unroll 2
    for (int i = threadIdx.x; i < items; i += THREADS) write_column<BLOCKS>(p, first_col, i, panel);
  } else {
#pragma unroll 2
    for (int i = threadIdx.x; i < items; i += THREADS) write_four<BLOCKS>(p, first_col, i, panel);
  }
}

#endif
