/* Condensed windows times X. A warp takes a piece of a window by a panel of 8 WIDE columns of X, in registers
 * alone: the bits of a block become the A operand of mma (16 rows by 16 columns of the pattern), the rows of
 * X that its columns name the B operand. Thread (g, q) = (lane / 4, lane % 4) reads WIDE neighbouring
 * columns, from WIDE g on, of the four rows that the block's columns 4q to 4q + 3 name: whole lines for the
 * warp. Its number j of a row goes to product j, so that column n of that product is column WIDE n + j of the
 * panel; any order of a block's columns serves, as bits and rows agree. */
#include <cfloat>

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

template <int WIDE_, int PLANES_, bool WEIGHTED_> struct panel {
  static constexpr int WIDE = WIDE_, PLANES = PLANES_, WORDS = WIDE / 2, COLUMNS = 8 * WIDE;
  static constexpr bool WEIGHTED = WEIGHTED_;
  static constexpr int FACTORS = WEIGHTED ? 2 : 1; /* planes of the weights */
  static constexpr int STEP = PLANES == 1 ? 2 : 1; /* blocks whose rows are on their way together */
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* sum [16, 8] += a [16, 16] x [16, 8]. */
static __device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t x0,
                                                uint32_t x1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(x0), "r"(x1));
}

/* WIDE numbers of a row of X. */
static __device__ __forceinline__ void read_row(const char *from, uint32_t (&to)[4]) {
  const uint4 v = __ldg((const uint4 *)from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

static __device__ __forceinline__ void read_row(const char *from, uint32_t (&to)[2]) {
  const uint2 v = __ldg((const uint2 *)from);
  to[0] = v.x, to[1] = v.y;
}

/* How many bits of a block stand before bit `bit` of its word `word`. */
static __device__ __forceinline__ int bits_before(const uint8_t *block, int word, int bit) {
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
    const int before = bits_before(op.a.bits + (int64_t)block * BLOCK_BYTES, lane / 4, lane % 4 * 8);
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

static __device__ __forceinline__ bool is_finite(float x) {
  return fabsf(x) <= FLT_MAX;
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

/* Column `col` of X times row r of a block. */
template <class PANEL> static __device__ float sum_arcs(const struct product &op, int block, int r, int col) {
  const uint8_t *bits = op.a.bits + (int64_t)block * BLOCK_BYTES;
  uint32_t word = __ldg((const uint32_t *)bits + r % 8) &
                  (r < 8 ? 0x55555555u : 0xAAAAAAAAu); /* block_bit_of */
  float sum = 0;
  for (; word; word &= word - 1) {
    const int b = __ffs(word) - 1, c = b / 8 * 4 + b / 2 % 2 * 2 + b % 8 / 4;
    const int id = __ldg(op.a.col + (int64_t)block * CONDENSED_COLS + c);
    const bf16 *x = (const bf16 *)(op.x + (uint64_t)(uint32_t)id * op.x_bytes) + col;
    float value = (float)*x;
    if (PANEL::PLANES > 1) value += (float)x[op.plane_bytes / sizeof(bf16)];
    sum += PANEL::WEIGHTED
               ? value * __ldg(op.a.value + __ldg(op.a.first + block) + bits_before(bits, r % 8, b))
               : value;
  }
  return sum;
}

/* Zeros times what is not finite spoil all rows of a window: sums that are not finite are taken again arc by
 * arc. */
template <class PANEL>
static __device__ __noinline__ void sum_again(const struct product &op, const struct window_piece &piece) {
  for (int i = (int)threadIdx.x % 32; i < CONDENSED_ROWS * PANEL::COLUMNS; i += 32) {
    const int r = i / PANEL::COLUMNS, col = (int)blockIdx.y * PANEL::COLUMNS + i % PANEL::COLUMNS;
    float *to = op.sums + ((int64_t)piece.place * CONDENSED_ROWS + r) * op.stride + col;
    if (col >= op.width || is_finite(*to)) continue;
    float sum = 0;
    for (int b = piece.first; b < piece.end; b++) sum += sum_arcs<PANEL>(op, b, r, col);
    *to = sum;
  }
}

/* What a thread needs to know of a block: the rows of X for its four columns, and its bits. */
struct block {
  int4 id;
  uint32_t byte;
};

static __device__ __forceinline__ struct block read_block(const struct product &op, int b, int end) {
  const int lane = (int)threadIdx.x % 32;
  const int64_t at = min(b, end - 1); /* behind the end: nothing of the last one */
  const uint32_t byte = __ldg(op.a.bits + at * BLOCK_BYTES + lane);
  return {__ldg((const int4 *)(op.a.col + at * CONDENSED_COLS) + lane % 4), b < end ? byte : 0};
}

template <class PANEL>
static __device__ __forceinline__ void read_rows(const struct product &op, const char *x, const int4 &id,
                                                 uint32_t (&to)[PANEL::PLANES][4][PANEL::WORDS]) {
  const int ids[4] = {id.x, id.y, id.z, id.w};
#pragma unroll
  for (int p = 0; p < PANEL::PLANES; p++) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      read_row(x + (uint64_t)(uint32_t)ids[i] * op.x_bytes + p * op.plane_bytes, to[p][i]);
  }
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

template <class PANEL>
static __global__ void __launch_bounds__(WARPS * 32)
    condensed_kernel(const __grid_constant__ struct product op) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  multiply_piece<PANEL>(op);
#endif
}

int cuda_has_condensed(void) {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major >= 8;
}

template <int WIDE, int PLANES> static int launch(struct kernels *k, const struct product &op) {
  auto *kernel = op.a.value ? condensed_kernel<panel<WIDE, PLANES, true>>
                            : condensed_kernel<panel<WIDE, PLANES, false>>;
  const dim3 grid(blocks_of(op.a.pieces, WARPS), blocks_of(op.width, 8 * WIDE));
  kernel<<<grid, WARPS * 32, 0, cuda_stream(k)>>>(op);
  TRY_LAUNCH();
  return OK;
}

int cuda_condensed_multiply(struct kernels *k, const struct cuda_condensed *condensed, struct tensor x,
                            int64_t plane, float *sums, int64_t stride) {
  const uint32_t size = sizeof(bf16);
  const struct product op = {
      *condensed,     sums, stride, (const char *)x.data, (uint32_t)x.stride * size, (uint32_t)plane * size,
      (int32_t)x.cols};
  if (condensed->pieces == 0 || x.cols == 0) return OK;
  if (plane > 0) return x.cols <= 32 ? launch<4, 2>(k, op) : launch<8, 2>(k, op);
  return x.cols <= 32 ? launch<4, 1>(k, op) : launch<8, 1>(k, op);
}
