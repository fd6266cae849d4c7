/* B of floats, and B2 behind it, as they came by bulk copies, cut into the panel that products read
 * (gemm_fragment.cuh). */
#ifndef KERNELS_CUDA_GEMM_TMA_F32X3_GEMM_TMA_F32X3_PANEL_CUH
#define KERNELS_CUDA_GEMM_TMA_F32X3_GEMM_TMA_F32X3_PANEL_CUH

#include "kernels/cuda/gemm/gemm_fragment.cuh"
#include "kernels/cuda/gemm/tma_f32x3/gemm_tma_f32x3_boxes.cuh"

/* Eight terms of column `col` of the block's in half of a step: both of its pieces. */
template <int BLOCKS>
static __device__ __forceinline__ void put_terms(uint4 *panel, int step, int half, int col,
                                                 const float (&x)[8]) {
  const int block = col / 16 * 2 + col % 4 / 2, column = col % 16 / 4 * 2 + col % 2;
  uint4 *to = panel + step * 32 * BLOCKS + half * 8 * BLOCKS + block * 8 + column;
  struct bf16x2_split pair[4];
#pragma unroll
  for (int q = 0; q < 4; q++) pair[q] = split(x[2 * q], x[2 * q + 1]);
  to[0] = make_uint4(pair[0].hi, pair[1].hi, pair[2].hi, pair[3].hi);
  to[16 * BLOCKS] = make_uint4(pair[0].mid, pair[1].mid, pair[2].mid, pair[3].mid);
}

/* From a box of four steps by 32 columns, as far as these are there: a thread takes half a step of two
 * columns. */
template <int BLOCKS>
static __device__ __forceinline__ void cut_rows(const unsigned char *box, int first_step, int steps,
                                                int first_col, int thread, uint4 *panel) {
  const int pair = thread % 16, half = thread / 16 % 2, step = thread / 32, col = first_col + 2 * pair;
  float2 row[8];
#pragma unroll
  for (int t = 0; t < 8; t++) {
    const uint4 &chunk = chunk_of_box(box, step * TERMS + t / 2 * 4 + half * 2 + t % 2, pair / 2);
    row[t] = ((const float2 *)&chunk)[pair % 2];
  }
  if (first_step + step >= steps || col >= 8 * BLOCKS) return;
  const float x[8] = {row[0].x, row[1].x, row[2].x, row[3].x, row[4].x, row[5].x, row[6].x, row[7].x};
  const float y[8] = {row[0].y, row[1].y, row[2].y, row[3].y, row[4].y, row[5].y, row[6].y, row[7].y};
  put_terms<BLOCKS>(panel, first_step + step, half, col, x);
  put_terms<BLOCKS>(panel, first_step + step, half, col + 1, y);
}

/* From a box of 64 columns, its rows, by two steps: a thread takes a step of one column. */
template <int BLOCKS>
static __device__ __forceinline__ void cut_columns(const unsigned char *box, int first_step, int first_col,
                                                   int thread, uint4 *panel) {
  const int row = thread % BOX_ROWS, step = thread / BOX_ROWS;
  float4 four[4];
#pragma unroll
  for (int q = 0; q < 4; q++) four[q] = *(const float4 *)&chunk_of_box(box, row, 4 * step + q);
  if (first_col + row >= 8 * BLOCKS) return;
  const float x[8] = {four[0].x, four[0].y, four[1].x, four[1].y, four[2].x, four[2].y, four[3].x, four[3].y};
  const float y[8] = {four[0].z, four[0].w, four[1].z, four[1].w, four[2].z, four[2].w, four[3].z, four[3].w};
  put_terms<BLOCKS>(panel, first_step + step, 0, first_col + row, x);
  put_terms<BLOCKS>(panel, first_step + step, 1, first_col + row, y);
}

/* The team's share of B's boxes, of which `first` is the first one's number in the ring. */
template <int BLOCKS, int SHARES>
static __device__ __forceinline__ void
cut_panel(const struct tma_f32x3_product &p, const struct tma_f32x3_memory &m,
          struct tma_f32x3_barriers &barriers, int first, int team, int thread) {
  for (int i = team; i < p.b_boxes; i += SHARES) {
    const struct ring_place at = place_of_box(p, first + i);
    const unsigned char *box = m.ring + at.box * BOX;
    const struct box_of_b b = box_of_b_at<BLOCKS>(p, i);
    await_box(barriers, at);
    if (p.transpose_b)
      cut_columns<BLOCKS>(box, b.step, b.row, thread, m.panel);
    else
      cut_rows<BLOCKS>(box, b.step, b.steps, b.col, thread, m.panel);
    give_box(barriers, at);
  }
}

#endif
