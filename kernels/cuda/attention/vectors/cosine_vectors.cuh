/* What both directions of attention by cosines on column vectors share; see cosine_windows.h.
 *
 * A warp takes a piece of a window of 8 rows, two blocks of 8 vectors at a time: 16 columns of the matrix
 * that have entries in the window. Thread (g, q) = (lane / 4, lane % 4) reads its share of row g of the
 * window and of the rows of vectors g and 8 + g, N / 4 numbers each, as whole words of two. Scores are the
 * products [16, 8] of vectors with rows, one SDDMM of Libra's (Shi et al., 2025): both operands take columns
 * in the order in which a thread's words hold them, so that nothing moves between lanes. The thread gets the
 * cells of its two vectors in rows 2q and 2q + 1. Their weights times the vectors' rows are the sums, as the
 * transposed product (FlashSparse, Shi et al., PPoPP 2025): [16 columns, 16 vectors] by [16 vectors, 8 rows],
 * whose operands are the same words, transposed 8 x 8 at a time. */
#ifndef KERNELS_CUDA_ATTENTION_VECTORS_COSINE_VECTORS_CUH
#define KERNELS_CUDA_ATTENTION_VECTORS_COSINE_VECTORS_CUH

#include "kernels/cuda/attention/parts/cosine_ends.cuh"
#include "kernels/cuda/common/mma.cuh"

constexpr int WARPS = 4; /* of a block of threads */

struct cosine_vectors : cosine_ends {
  struct cuda_condensed a;
  const int32_t *row; /* [rows] of the compressed ones; NULL: row i */
  int32_t rows;
  float *sums; /* [places, VECTOR_ROWS, stride] */
  int64_t stride;
};

static inline struct cosine_vectors cosine_vectors_of(struct kernels *k, const struct cosine_windows *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  struct cosine_vectors vectors = {};
  static_cast<cosine_ends &>(vectors) = cosine_ends_of(k, op);
  vectors.a = a->condensed;
  vectors.row = a->row;
  vectors.rows = (int32_t)a->base.csr->rows;
  vectors.sums = op->sums;
  vectors.stride = op->stride;
  return vectors;
}

static inline bool has_vectors(const struct cosine_windows *op) {
  const struct cuda_condensed *a = &cuda_layout(op->a)->condensed;
  return a->side == VECTOR_ROWS && a->pieces > 0;
}

/* N: columns of x, with zeros behind the width. A window's sums on their way through shared memory: */
template <int N> using sums_of_window = float[VECTOR_ROWS][N + 4];

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* The first column of the thread's word w, which the threads of a quad have four or eight at a time. */
template <int N> static __device__ __forceinline__ int column_of(int w, int quarter) {
  return N == 16 ? 4 * quarter + 2 * w : w / 4 * 32 + 8 * quarter + 2 * (w % 4);
}

/* The thread's words of the row at `from`, 0 behind `width`; NULL: zeros. */
template <int N>
static __device__ __forceinline__ void read_words(const char *from, int32_t width, uint32_t (&to)[N / 8]) {
  const int quarter = (int)threadIdx.x % 4;
#pragma unroll
  for (int w = 0; w < N / 8; w++) to[w] = 0;
  if (!from) return;
  if constexpr (N == 16) {
    const uint2 v = __ldg((const uint2 *)from + quarter);
    to[0] = v.x, to[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < N / 32; i++) {
      const uint4 v = __ldg((const uint4 *)from + 4 * i + quarter);
      to[4 * i] = v.x, to[4 * i + 1] = v.y, to[4 * i + 2] = v.z, to[4 * i + 3] = v.w;
    }
  }
  if (width == N) return; /* of all threads alike */
#pragma unroll
  for (int w = 0; w < N / 8; w++) {
    const int left = width - column_of<N>(w, quarter);
    to[w] = left >= 2 ? to[w] : left == 1 ? to[w] & 0xFFFF : 0;
  }
}

/* The thread's two vectors of two blocks: their columns, and which of rows 2q and 2q + 1 they have. */
struct vector_pair {
  int id[2];
  uint32_t bits[2]; /* bits 0 and 8 */
};

static __device__ __forceinline__ struct vector_pair read_pair(const struct cosine_vectors &op, int b,
                                                               int end) {
  const int group = (int)threadIdx.x % 32 / 4, quarter = (int)threadIdx.x % 4;
  struct vector_pair pair;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int64_t at = min(b + i, end - 1); /* behind the end: nothing of the last one */
    const uint32_t both = __ldg((const uint16_t *)op.a.bits + at * (VECTOR_BYTES / 2) + quarter);
    pair.id[i] = __ldg(op.a.col + at * VECTOR_ROWS + group);
    pair.bits[i] = b + i < end ? both >> group : 0;
  }
  return pair;
}

/* All ones in the half of a word whose row has an entry. */
static __device__ __forceinline__ uint32_t mask_of_rows(uint32_t bits) {
  return (bits & 1 ? 0xFFFFu : 0) | (bits & 256 ? 0xFFFF0000u : 0);
}

/* The message of row r of a window; NULL behind the last row. */
static __device__ __forceinline__ const char *message_of_row(const struct cosine_vectors &op, int32_t window,
                                                             int r) {
  const int32_t i = window * VECTOR_ROWS + r;
  if (i >= op.rows) return NULL;
  return at<char>(op.mine, op.row ? __ldg(op.row + i) : i, 0);
}

/* product [16 vectors, 8 rows] = x row^T. */
template <int N>
static __device__ __forceinline__ void multiply_rows(const uint32_t (&x)[2][N / 8],
                                                     const uint32_t (&row)[N / 8], float (&product)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) product[i] = 0;
#pragma unroll
  for (int k = 0; k < N / 16; k++) {
    const uint32_t a[4] = {x[0][2 * k], x[1][2 * k], x[0][2 * k + 1], x[1][2 * k + 1]};
    multiply(product, a, row[2 * k], row[2 * k + 1]);
  }
}

/* sum [N columns, 8 rows] += x^T cells. Of step m, numbers j and 2 + j are those of row 2q + j in the columns
 * at place g among the eight that words 2m and 2m + 1 of a quad hold. */
template <int N>
static __device__ __forceinline__ void add_products(const uint32_t (&x)[2][N / 8], const uint32_t (&cells)[2],
                                                    float (&sum)[N / 16][4]) {
  const uint32_t b[2] = {transposed(cells[0]), transposed(cells[1])};
#pragma unroll
  for (int m = 0; m < N / 16; m++) {
    const uint32_t a[4] = {transposed(x[0][2 * m]), transposed(x[0][2 * m + 1]), transposed(x[1][2 * m]),
                           transposed(x[1][2 * m + 1])};
    multiply(sum[m], a, b[0], b[1]);
  }
}

/* Whether one of the sums is not finite, in any thread of the warp. */
template <int N> static __device__ __forceinline__ bool are_finite(const float (&sum)[N / 16][4]) {
  bool finite = true;
#pragma unroll
  for (int i = 0; i < N / 4; i++) finite &= is_finite(sum[i / 4][i % 4]);
  return __all_sync(~0u, finite);
}

static __device__ __forceinline__ float *sums_of_row(const struct cosine_vectors &op, int32_t place, int r) {
  return op.sums + ((int64_t)place * VECTOR_ROWS + r) * op.stride;
}

/* The warp's sums, times `factor`, to the rows of a piece, from that column of theirs on: by way of shared
 * memory, so that whole sectors are written. */
template <int N>
static __device__ __forceinline__ void write_sums(const struct cosine_vectors &op, int32_t place, int first,
                                                  float factor, const float (&sum)[N / 16][4],
                                                  sums_of_window<N> &shared) {
  const int lane = (int)threadIdx.x % 32, group = lane / 4, quarter = lane % 4;
  const int vectors = (int)partial_columns(op.width) / 4;
  __syncwarp();
#pragma unroll
  for (int m = 0; m < N / 16; m++) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      shared[2 * quarter + i % 2][column_of<N>(2 * m + i / 2, group / 2) + group % 2] = factor * sum[m][i];
  }
  __syncwarp();
  for (int i = lane; i < VECTOR_ROWS * vectors; i += 32)
    *(float4 *)(sums_of_row(op, place, i / vectors) + first +
                i % vectors * 4) = *(const float4 *)&shared[i / vectors][i % vectors * 4];
}

/* The sum over the threads that have the same rows. */
static __device__ __forceinline__ float sum_of_row(float x) {
#pragma unroll
  for (int o = 4; o < 32; o *= 2) x += __shfl_xor_sync(~0u, x, o);
  return x;
}

/* Calls arc(column) for the entries of row r of a piece, in order. */
template <class ARC>
static __device__ __forceinline__ void each_arc(const struct cosine_vectors &op, const struct window_piece &w,
                                                int r, const ARC &arc) {
  for (int64_t b = w.first; b < w.end; b++) {
    for (uint32_t bits = __ldg(op.a.bits + b * VECTOR_BYTES + r); bits; bits &= bits - 1)
      arc(__ldg(op.a.col + b * VECTOR_ROWS + __ffs((int)bits) - 1));
  }
}

#endif

#endif
