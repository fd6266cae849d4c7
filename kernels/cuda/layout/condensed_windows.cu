/* Condensed windows times X, in registers alone: the bits of a block become the A operand of mma (16 rows by
 * 16 columns of the pattern), the rows of X that its columns name the B operand. Thread (g, q) = (lane / 4,
 * lane % 4) reads WIDE neighbouring columns, from WIDE g on, of the four rows that the block's columns 4q to
 * 4q + 3 name: whole lines for the warp. Its number j of a row goes to product j, so that column n of that
 * product is column WIDE n + j of the panel; any order of a block's columns serves, as bits and rows agree.
 */
#include "kernels/cuda/common/mma.cuh"
#include "kernels/cuda/layout/condensed_multiply.cuh"

struct window_block {
  static constexpr int SIDE = CONDENSED_ROWS, BYTES = BLOCK_BYTES;
  static __device__ uint32_t row_bits(const uint8_t *block, int r) {
    return __ldg((const uint32_t *)block + r % 8) & (r < 8 ? 0x55555555u : 0xAAAAAAAAu);
  }
  static __device__ int column(int b) { return b / 8 * 4 + b / 2 % 2 * 2 + b % 8 / 4; }
  /* How many bits of a block stand before bit `bit` of its word `word`. */
  static __device__ __forceinline__ int before(const uint8_t *block, int word, int bit) {
    const uint4 low = __ldg((const uint4 *)block), high = __ldg((const uint4 *)block + 1);
    const uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    int count = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const uint32_t mask = i < word ? ~0u : i == word ? (1u << bit) - 1 : 0;
      count += __popc(words[i] & mask);
    }
    return count;
  }
  static __device__ int bits_before(const uint8_t *block, int r, int b) {
    return before(block, r % 8, b);
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* The thread's bits of a block as pairs of bf16 of {0, 1}. */
static __device__ __forceinline__ void expand(uint32_t byte, uint32_t (&a)[1][4]) {
  const uint32_t apart = byte | byte << 12; /* bit r and bit 16 + r: of a pair */
#pragma unroll
  for (int r = 0; r < 4; r++) a[0][r] = (apart >> r & 0x00010001u) * 0x3F80u;
}

/* Its weights in two planes: value points to the first of them. */
static __device__ __forceinline__ void expand(uint32_t byte, const float *value, uint32_t (&a)[2][4]) {
  float weight[8];
#pragma unroll
  for (int b = 0; b < 8; b++) weight[b] = byte >> b & 1 ? __ldg(value + __popc(byte & ((1u << b) - 1))) : 0;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    float even[2], odd[2];
    split_bf16x2(weight[r], even[0], even[1]);
    split_bf16x2(weight[4 + r], odd[0], odd[1]);
#pragma unroll
    for (int p = 0; p < 2; p++) {
      a[p][r] = rounded_pair(even[p], odd[p]);
    }
  }
}

template <class PANEL>
static __device__ __forceinline__ void read_pattern(const struct product &op, int block, uint32_t byte,
                                                    uint32_t (&a)[PANEL::FACTORS][4]) {
  if constexpr (PANEL::WEIGHTED) {
    const int lane = (int)threadIdx.x % 32;
    const int before = window_block::before(op.a.bits + (int64_t)block * BLOCK_BYTES, lane / 4, lane % 4 * 8);
    expand(byte, op.a.value + __ldg(op.a.first + block) + before, a);
  } else {
    expand(byte, a);
  }
}

/* One block's products. The product of the two lower planes is beneath fp32's accuracy. */
template <class PANEL>
static __device__ __forceinline__ void multiply_block(const uint32_t (&a)[PANEL::FACTORS][4],
                                                      const uint32_t (&x)[PANEL::PLANES][4][PANEL::WORDS],
                                                      float (&sum)[PANEL::WIDE][4]) {
#pragma unroll
  for (int p = 0; p < PANEL::PLANES; p++) {
#pragma unroll
    for (int j = 0; j < PANEL::WIDE; j++) {
      const uint32_t half = j % 2 ? 0x7632 : 0x5410;
      const uint32_t x0 = __byte_perm(x[p][0][j / 2], x[p][1][j / 2], half);
      const uint32_t x1 = __byte_perm(x[p][2][j / 2], x[p][3][j / 2], half);
#pragma unroll
      for (int f = 0; f + p < PANEL::FACTORS || f == 0; f++) multiply(sum[j], a[f], x0, x1);
    }
  }
}

/* The thread's sums to the piece's rows. Whether one of them, of X's columns, is not finite. */
template <class PANEL>
static __device__ __forceinline__ bool write_sums(const struct product &op, const struct window_piece &piece,
                                                  const float (&sum)[PANEL::WIDE][4]) {
  constexpr int WIDE = PANEL::WIDE;
  const int lane = (int)threadIdx.x % 32, col = (int)blockIdx.y * PANEL::COLUMNS + lane % 4 * 2 * WIDE;
  bool spoilt = false;
#pragma unroll
  for (int i = 0; i < 4 * WIDE; i++)
    spoilt |= !is_finite(sum[i / 4][i % 4]) && col + i % 2 * WIDE + i / 4 < op.width;
#pragma unroll
  for (int c = 0; c < 4; c++) {
    float *to = op.sums + ((int64_t)piece.place * CONDENSED_ROWS + lane / 4 + c / 2 * 8) * op.stride + col +
                c % 2 * WIDE;
#pragma unroll
    for (int j = 0; j < WIDE; j += 4)
      *(float4 *)(to + j) = make_float4(sum[j][c], sum[j + 1][c], sum[j + 2][c], sum[j + 3][c]);
  }
  return spoilt;
}

/* What a thread needs to know of a block: the rows of X for its four columns, and its bits. */
struct block {
  int id[4];
  uint32_t byte;
};

static __device__ __forceinline__ struct block read_block(const struct product &op, int b, int end) {
  const int lane = (int)threadIdx.x % 32;
  const int64_t at = min(b, end - 1); /* behind the end: nothing of the last one */
  const uint32_t byte = __ldg(op.a.bits + at * BLOCK_BYTES + lane);
  const int4 id = __ldg((const int4 *)(op.a.col + at * CONDENSED_COLS) + lane % 4);
  return {{id.x, id.y, id.z, id.w}, b < end ? byte : 0};
}

template <class PANEL> static __device__ __forceinline__ void multiply_piece(const struct product &op) {
  constexpr int STEP = PANEL::STEP, WIDE = PANEL::WIDE;
  const int64_t at = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / 32;
  if (at >= op.a.pieces) return;
  const struct window_piece piece = op.a.piece[at];
  const int first = (int)blockIdx.y * PANEL::COLUMNS, mine = first + (int)threadIdx.x % 32 / 4 * WIDE;
  const char *x = op.x + (mine < op.width ? mine : first) * (int)sizeof(bf16); /* idle threads read twice */
  float sum[WIDE][4] = {};
  struct block next[STEP];
#pragma unroll
  for (int u = 0; u < STEP; u++) next[u] = read_block(op, piece.first + u, piece.end);
  for (int b = piece.first; b < piece.end; b += STEP) {
    uint32_t rows[STEP][PANEL::PLANES][4][PANEL::WORDS];
    struct block now[STEP];
#pragma unroll
    for (int u = 0; u < STEP; u++) {
      now[u] = next[u];
      read_rows<PANEL>(op, x, now[u].id, rows[u]);
    }
#pragma unroll
    for (int u = 0; u < STEP; u++) next[u] = read_block(op, b + STEP + u, piece.end);
#pragma unroll
    for (int u = 0; u < STEP; u++) {
      uint32_t a[PANEL::FACTORS][4];
      read_pattern<PANEL>(op, min(b + u, piece.end - 1), now[u].byte, a);
      multiply_block<PANEL>(a, rows[u], sum);
    }
  }
  const bool spoilt = write_sums<PANEL>(op, piece, sum);
  __syncwarp();
  if (__any_sync(~0u, spoilt)) sum_again<PANEL>(op, piece);
}

#endif

int cuda_has_condensed(void) {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major >= 8;
}

int cuda_condensed_multiply(struct kernels *k, const struct cuda_condensed *condensed, struct tensor x,
                            int64_t plane, float *sums, int64_t stride) {
  const uint32_t size = sizeof(bf16);
  const struct product op = {
      *condensed,     sums, stride, (const char *)x.data, (uint32_t)x.stride * size, (uint32_t)plane * size,
      (int32_t)x.cols};
  if (condensed->pieces == 0 || x.cols == 0) return OK;
  return condensed->side == VECTOR_ROWS ? cuda_vectors_multiply(k, &op) : launch_panels<window_block>(k, op);
}
