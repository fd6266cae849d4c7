/* Column vectors times X as the transposed product, so that windows of 8 rows fill tensor cores (FlashSparse,
 * Shi et al., PPoPP 2025; which vectors come here: Libra, Shi et al., 2025), in registers alone. The rows of
 * X that a block's columns name are the A operand of mma (16 columns of X by 8 of these rows), the bits of
 * the block the B operand (8 by 8). Thread (g, q) = (lane / 4, lane % 4) reads WIDE neighbouring columns,
 * from WIDE g on, of the two rows that the block's columns 2q and 2q + 1 name: whole lines for the warp.
 * Product j has its numbers 2j and 2j + 1: rows n and n + 8 of A are columns WIDE n + 2j and WIDE n + 2j + 1
 * of the panel. So the thread's sums are those of rows 2q and 2q + 1 of the window, in the columns that it
 * has read. */
#include "kernels/cuda/layout/condensed_multiply.cuh"

struct vector_block {
  static constexpr int SIDE = VECTOR_ROWS, BYTES = VECTOR_BYTES;
  static __device__ uint32_t row_bits(const uint8_t *block, int r) { return __ldg(block + r); }
  static __device__ int column(int b) { return b; }
  static __device__ __forceinline__ int before(uint2 bits, int place) {
    return __popcll(((uint64_t)bits.y << 32 | bits.x) & ((1ull << place) - 1));
  }
  static __device__ int bits_before(const uint8_t *block, int r, int b) {
    return before(__ldg((const uint2 *)block), r * SIDE + b);
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* sum [16, 8] += x [16, 8] b [8, 8]. */
static __device__ __forceinline__ void multiply(float (&sum)[4], uint32_t x0, uint32_t x1, uint32_t b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(x0), "r"(x1), "r"(b));
}

/* What a thread needs to know of a block: the rows of X for its two columns, and all bits. */
struct block {
  int id[2];
  uint2 bits;
};

static __device__ __forceinline__ struct block read_block(const struct product &op, int b) {
  const int2 id = __ldg((const int2 *)op.a.col + (int64_t)b * (VECTOR_ROWS / 2) + threadIdx.x % 4);
  return {{id.x, id.y}, __ldg((const uint2 *)op.a.bits + b)};
}

/* The thread's two cells of a block as a pair of bf16: {0, 1}, or the weights in two planes. */
template <class PANEL>
static __device__ __forceinline__ void expand(const struct product &op, int b, uint2 bits,
                                              uint32_t (&to)[PANEL::FACTORS]) {
  const int lane = (int)threadIdx.x % 32, place = lane / 4 * VECTOR_ROWS + lane % 4 * 2;
  const uint32_t pair = (lane < 16 ? bits.x : bits.y) >> place % 32 & 3;
  if constexpr (PANEL::WEIGHTED) {
    const float *value = op.a.value + __ldg(op.a.first + b) + vector_block::before(bits, place);
    float even[2], odd[2];
    split_bf16x2(pair & 1 ? __ldg(value) : 0, even[0], even[1]);
    split_bf16x2(pair & 2 ? __ldg(value + (pair & 1)) : 0, odd[0], odd[1]);
#pragma unroll
    for (int f = 0; f < 2; f++) to[f] = rounded_pair(even[f], odd[f]);
  } else {
    to[0] = (pair & 1 | (pair & 2) << 15) * 0x3F80u;
  }
}

/* One block's products. The product of the two lower planes is beneath fp32's accuracy. */
template <class PANEL>
static __device__ __forceinline__ void multiply_block(const uint32_t (&b)[PANEL::FACTORS],
                                                      const uint32_t (&x)[PANEL::PLANES][2][PANEL::WORDS],
                                                      float (&sum)[PANEL::WORDS][4]) {
#pragma unroll
  for (int p = 0; p < PANEL::PLANES; p++) {
#pragma unroll
    for (int j = 0; j < PANEL::WORDS; j++) {
      const uint32_t x0 = __byte_perm(x[p][0][j], x[p][1][j], 0x5410);
      const uint32_t x1 = __byte_perm(x[p][0][j], x[p][1][j], 0x7632);
#pragma unroll
      for (int f = 0; f + p < PANEL::FACTORS || f == 0; f++) multiply(sum[j], x0, x1, b[f]);
    }
  }
}

/* The thread's sums to the piece's rows. Whether one of them, of X's columns, is not finite. */
template <class PANEL>
static __device__ __forceinline__ bool write_sums(const struct product &op, const struct window_piece &piece,
                                                  const float (&sum)[PANEL::WORDS][4]) {
  const int lane = (int)threadIdx.x % 32, col = (int)blockIdx.y * PANEL::COLUMNS + lane / 4 * PANEL::WIDE;
  bool spoilt = false;
#pragma unroll
  for (int i = 0; i < 4 * PANEL::WORDS; i++)
    spoilt |= !is_finite(sum[i / 4][i % 4]) && col + i / 4 * 2 + i % 4 / 2 < op.width;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float *to = op.sums + ((int64_t)piece.place * VECTOR_ROWS + lane % 4 * 2 + r) * op.stride + col;
#pragma unroll
    for (int j = 0; j < PANEL::WORDS; j += 2)
      *(float4 *)(to + 2 * j) = make_float4(sum[j][r], sum[j][2 + r], sum[j + 1][r], sum[j + 1][2 + r]);
  }
  return spoilt;
}

template <class PANEL> static __device__ __forceinline__ void multiply_piece(const struct product &op) {
  constexpr int STEP = PANEL::STEP;
  const int64_t at = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / 32;
  if (at >= op.a.pieces) return;
  const struct window_piece piece = op.a.piece[at];
  const int first = (int)blockIdx.y * PANEL::COLUMNS, mine = first + (int)threadIdx.x % 32 / 4 * PANEL::WIDE;
  const char *x = op.x + (mine < op.width ? mine : first) * (int)sizeof(bf16); /* idle threads read twice */
  float sum[PANEL::WORDS][4] = {};
  struct block next[STEP] = {};
#pragma unroll
  for (int u = 0; u < STEP; u++)
    if (piece.first + u < piece.end) next[u] = read_block(op, piece.first + u);
  for (int b = piece.first; b < piece.end; b += STEP) {
    uint32_t rows[STEP][PANEL::PLANES][2][PANEL::WORDS] = {}; /* behind the end: zeros times zeros */
    struct block now[STEP];
#pragma unroll
    for (int u = 0; u < STEP; u++) {
      now[u] = next[u];
      if (b + u < piece.end) read_rows<PANEL>(op, x, now[u].id, rows[u]);
    }
#pragma unroll
    for (int u = 0; u < STEP; u++)
      if (b + STEP + u < piece.end) next[u] = read_block(op, b + STEP + u);
#pragma unroll
    for (int u = 0; u < STEP; u++) {
      uint32_t pattern[PANEL::FACTORS];
      const uint2 bits = b + u < piece.end ? now[u].bits : make_uint2(0, 0);
      expand<PANEL>(op, min(b + u, piece.end - 1), bits, pattern);
      multiply_block<PANEL>(pattern, rows[u], sum);
    }
  }
  const bool spoilt = write_sums<PANEL>(op, piece, sum);
  __syncwarp();
  if (__any_sync(~0u, spoilt)) sum_again<PANEL>(op, piece);
}

#endif

int cuda_vectors_multiply(struct kernels *k, const struct product *op) {
  return launch_panels<vector_block>(k, *op);
}
