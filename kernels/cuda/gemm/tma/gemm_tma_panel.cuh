/* B, and B2 behind it, as they came by bulk copies, cut into the panel that products read
 * (gemm_fragment.cuh). */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_PANEL_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_PANEL_CUH

#include "kernels/cuda/gemm/gemm_fragment.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_boxes.cuh"

/* Eight terms of column `col` of the block's: those of a half of a plane of a step. */
template <int BLOCKS>
static __device__ __forceinline__ uint4 &panel_chunk(uint4 *panel, int step, int plane, int half, int col) {
  const int block = col / 16 * 2 + col % 4 / 2, column = col % 16 / 4 * 2 + col % 2;
  return panel[((step * 2 + plane) * 2 + half) * 8 * BLOCKS + block * 8 + column];
}

/* Of floats, both planes. */
template <int BLOCKS>
static __device__ __forceinline__ void put_terms(uint4 *panel, int step, int half, int col,
                                                 const float (&x)[8]) {
  struct bf16x2_split pair[4];
#pragma unroll
  for (int q = 0; q < 4; q++) pair[q] = split(x[2 * q], x[2 * q + 1]);
  panel_chunk<BLOCKS>(panel, step, 0, half, col) = make_uint4(pair[0].hi, pair[1].hi, pair[2].hi, pair[3].hi);
  panel_chunk<BLOCKS>(panel, step, 1, half, col) = make_uint4(pair[0].mid, pair[1].mid, pair[2].mid,
                                                              pair[3].mid);
}

/* The first of terms 2 q and 2 q + 1 of half a plane, among a step's rows of B: lane 4 g + q takes them from
 * 16 bytes of A, or, HELD, from the four neighbours of each 16 columns that it has of a product. */
template <class T, bool HELD> static __device__ __forceinline__ int row_of_terms(int plane, int half, int q) {
  if (sizeof(T) == 4) return 4 * q + 2 * half;
  return HELD ? 16 * plane + 4 * q + 2 * half : 8 * q + 4 * plane + 2 * half;
}

/* From a box of four steps by 32 columns, as far as these are there: a thread takes half a step of two
 * columns. */
template <int BLOCKS, bool HELD>
static __device__ __forceinline__ void cut_rows(const unsigned char *box, const struct box_of_b &b,
                                                int thread, uint4 *panel, float) {
  const int pair = thread % 16, half = thread / 16 % 2, step = thread / 32, col = b.col + 2 * pair;
  float x[8], y[8];
#pragma unroll
  for (int t = 0; t < 8; t++) {
    const int row = step * TERMS + row_of_terms<float, HELD>(0, half, t / 2) + t % 2;
    const float2 two = ((const float2 *)&chunk_of_box(box, row, pair / 2))[pair % 2];
    x[t] = two.x, y[t] = two.y;
  }
  if (b.step + step >= b.steps || col >= 8 * BLOCKS) return;
  put_terms<BLOCKS>(panel, b.step + step, half, col, x);
  put_terms<BLOCKS>(panel, b.step + step, half, col + 1, y);
}

/* From a box of two steps by 64 columns: a thread takes halves of both steps' planes of two columns. */
template <int BLOCKS, bool HELD>
static __device__ __forceinline__ void cut_rows(const unsigned char *box, const struct box_of_b &b,
                                                int thread, uint4 *panel, bf16) {
  const int pair = thread % 32, half = thread / 32 % 2, plane = thread / 64, col = b.col + 2 * pair;
#pragma unroll
  for (int step = 0; step < 2; step++) {
    uint32_t x[4], y[4];
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int row = step * 2 * TERMS + row_of_terms<bf16, HELD>(plane, half, q);
      const uint32_t one = ((const uint32_t *)&chunk_of_box(box, row, pair / 4))[pair % 4],
                     two = ((const uint32_t *)&chunk_of_box(box, row + 1, pair / 4))[pair % 4];
      x[q] = __byte_perm(one, two, 0x5410), y[q] = __byte_perm(one, two, 0x7632);
    }
    if (b.step + step >= b.steps || col >= 8 * BLOCKS) return;
    panel_chunk<BLOCKS>(panel, b.step + step, plane, half, col) = make_uint4(x[0], x[1], x[2], x[3]);
    panel_chunk<BLOCKS>(panel, b.step + step, plane, half, col + 1) = make_uint4(y[0], y[1], y[2], y[3]);
  }
}

/* From a box of 64 columns, its rows, by two steps: a thread takes a step of one column. */
template <int BLOCKS>
static __device__ __forceinline__ void cut_columns(const unsigned char *box, const struct box_of_b &b,
                                                   int thread, uint4 *panel, float) {
  const int row = thread % BOX_ROWS, step = thread / BOX_ROWS;
  float4 four[4];
#pragma unroll
  for (int q = 0; q < 4; q++) four[q] = *(const float4 *)&chunk_of_box(box, row, 4 * step + q);
  if (b.row + row >= 8 * BLOCKS) return;
  const float x[8] = {four[0].x, four[0].y, four[1].x, four[1].y, four[2].x, four[2].y, four[3].x, four[3].y};
  const float y[8] = {four[0].z, four[0].w, four[1].z, four[1].w, four[2].z, four[2].w, four[3].z, four[3].w};
  put_terms<BLOCKS>(panel, b.step + step, 0, b.row + row, x);
  put_terms<BLOCKS>(panel, b.step + step, 1, b.row + row, y);
}

template <int BLOCKS>
static __device__ __forceinline__ void cut_columns(const unsigned char *box, const struct box_of_b &b,
                                                   int thread, uint4 *panel, bf16) {
  const int row = thread % BOX_ROWS, step = thread / BOX_ROWS, col = b.row + row;
  uint4 x[4];
#pragma unroll
  for (int q = 0; q < 4; q++) x[q] = chunk_of_box(box, row, 4 * step + q);
  if (col >= 8 * BLOCKS) return;
  panel_chunk<BLOCKS>(panel, b.step + step, 0, 0, col) = make_uint4(x[0].x, x[1].x, x[2].x, x[3].x);
  panel_chunk<BLOCKS>(panel, b.step + step, 0, 1, col) = make_uint4(x[0].y, x[1].y, x[2].y, x[3].y);
  panel_chunk<BLOCKS>(panel, b.step + step, 1, 0, col) = make_uint4(x[0].z, x[1].z, x[2].z, x[3].z);
  panel_chunk<BLOCKS>(panel, b.step + step, 1, 1, col) = make_uint4(x[0].w, x[1].w, x[2].w, x[3].w);
}

/* The team's share of B's boxes, of which `first` is the first one's number in the ring; SHARES teams do so.
 * HELD: the left matrix is a product in registers. */
template <class S, int SHARES, bool HELD>
static __device__ __forceinline__ void cut_panel(const struct tma_product &p, const struct tma_memory &m,
                                                 struct ring_barriers &barriers, int first, int team,
                                                 int thread) {
  for (int i = team; i < p.b_boxes; i += SHARES) {
    const struct ring_place at = place_of_box(p, first + i);
    const unsigned char *box = m.ring + at.box * BOX;
    const struct box_of_b b = box_of_b_at<S>(p, i);
    await_box(barriers, at);
    if (p.transpose_b)
      cut_columns<S::BLOCKS>(box, b, thread, m.panel, typename S::T());
    else
      cut_rows<S::BLOCKS, HELD>(box, b, thread, m.panel, typename S::T());
    give_box(barriers, at);
  }
}

#endif
