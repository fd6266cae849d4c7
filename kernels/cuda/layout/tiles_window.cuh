/* One block's work on one piece of a window of tiles, in the instructions of sm_90a: bulk tensor copies,
 * their barriers and wgmma (PTX ISA). */
#ifndef KERNELS_CUDA_LAYOUT_TILES_WINDOW_CUH
#define KERNELS_CUDA_LAYOUT_TILES_WINDOW_CUH

#include <type_traits>

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/common/wgmma.cuh"
#include "kernels/cuda/layout/tiles.h"

struct product {
  const struct window_piece *piece;
  const int32_t *segment;
  const uint32_t *bits;
  float *sums;
  int64_t stride;
  int32_t plane; /* columns from plane to plane; 0: there is one */
  int32_t width; /* of X */
  const bf16 *x;
  int64_t x_stride;
  const int64_t *first; /* NULL: binary, as */
  const float *value;
};

/* FED: by a warp of its own; else thread 0 fetches between its products. */
template <int COLUMNS_, int PLANES_, int STAGES_, int BLOCKS_, bool FED_ = false, bool WEIGHTED_ = false>
struct tile_shape {
  static constexpr int COLUMNS = COLUMNS_, PLANES = PLANES_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr bool FED = FED_, WEIGHTED = WEIGHTED_;
  static constexpr int THREADS = BLOCK + (FED ? 32 : 0);
  static constexpr int FACTORS = WEIGHTED ? PLANES : 1;       /* planes of A */
  static constexpr int GROUPS = COLUMNS / 64;                 /* of 64 columns */
  static constexpr uint32_t GROUP_BYTES = TILE_COLS * 64 * 2; /* 64 rows of them */
  static constexpr uint32_t STAGE_BYTES = GROUP_BYTES * GROUPS * PLANES;
  /* Tiles a step: enough products between two waits. */
  static constexpr int STEP = PLANES == 1 && FED ? 2 : 1;
};

template <class SHAPE> struct ring { uint64_t full[SHAPE::STAGES], empty[SHAPE::STAGES]; };

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#define LIST8(d, i)                                                                           \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define LIST32(d, i) LIST8(d, i), LIST8(d, i + 8), LIST8(d, i + 16), LIST8(d, i + 24)

/* sum [64, 64] += a (registers, [64, 16]) times x (shared memory, [16, 64]). */
static __device__ __forceinline__ void multiply(float (&sum)[32], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31},"
               "{%32,%33,%34,%35}, %36, add, 1, 1, 1; }"
               : LIST32(sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

static __device__ __forceinline__ void multiply(float (&sum)[64], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
               "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
               "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
               "{%64,%65,%66,%67}, %68, add, 1, 1, 1; }"
               : LIST32(sum, 0), LIST32(sum, 32)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

/* The compiler must not move reads and writes of these registers over a wgmma in flight. */
template <int COUNT> static __device__ __forceinline__ void pin(float (&x)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(x[i])::"memory");
}

template <int COUNT> static __device__ __forceinline__ void pin(uint32_t (&x)[COUNT][4][4]) {
#pragma unroll
  for (int i = 0; i < COUNT * 16; i++) asm volatile("" : "+r"(x[i / 16][i / 4 % 4][i % 4])::"memory");
}

/* Bits i and 16 + i of a word as a pair of bf16 of {0, 2}: 2.0 is the single bit 0x4000. */
static __device__ __forceinline__ uint32_t pair_of(uint32_t word, int i) {
  return (i <= 14 ? word << (14 - i) : word >> 1) & 0x40004000u;
}

/* The sum of `mine` over the lanes before this one. */
static __device__ __forceinline__ int sum_before(int mine) {
  int sum = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(~0u, sum, step);
    if ((int)threadIdx.x % 32 >= step) sum += below;
  }
  return sum - mine;
}

/* *from where `there` is 1, else 0; no branch, so that many are on their way together. */
static __device__ __forceinline__ float read_if(uint32_t there, const float *from) {
  float x;
  asm("{ .reg .pred there; setp.ne.u32 there, %2, 0;\n"
      "mov.f32 %0, 0f00000000;\n"
      "@there ld.global.nc.f32 %0, [%1]; }"
      : "=&f"(x)
      : "l"(from), "r"(there));
  return x;
}

/* A tile's bits as A operands. */
template <class SHAPE>
static __device__ __forceinline__ void expand(const uint32_t (&word)[SHAPE::STEP], const float *,
                                              uint32_t (&a)[SHAPE::STEP][4][4], std::false_type) {
#pragma unroll
  for (int j = 0; j < SHAPE::STEP * 16; j++) a[j / 16][j / 4 % 4][j % 4] = pair_of(word[j / 16], j % 16);
}

/* Its weights in planes. A thread's follow each other: first those of even columns, in the lower half of its
 * word. */
template <class SHAPE>
static __device__ __forceinline__ void expand(const uint32_t (&words)[1], const float *even,
                                              uint32_t (&a)[SHAPE::FACTORS][4][4], std::true_type) {
  const uint32_t word = words[0];
  const float *odd = even + __popc(word & 0xFFFF);
  float x[16], y[16];
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const uint32_t first = word >> i & 1, second = word >> (16 + i) & 1;
    x[i] = read_if(first, even);
    y[i] = read_if(second, odd);
    even += first;
    odd += second;
  }
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const uint32_t high = rounded_pair(x[i], y[i]);
    a[0][i / 4][i % 4] = high;
    if constexpr (SHAPE::FACTORS > 1)
      a[1][i / 4][i % 4] = rounded_pair(x[i] - low_half(high), y[i] - high_half(high));
  }
}

/* Where the weights of this thread's strip of a tile begin among all. */
template <class SHAPE>
static __device__ __forceinline__ int64_t strip_of(const struct product &op, int tile) {
  if (!SHAPE::WEIGHTED) return 0;
  return __ldg(op.first + (int64_t)tile * TILE_STRIPS + threadIdx.x / STRIP_WORDS);
}

/* Where this thread's own begin; they are asked for. */
template <class SHAPE>
static __device__ __forceinline__ const float *value_of(const struct product &op, int64_t strip,
                                                        const uint32_t (&word)[SHAPE::STEP]) {
  if (!SHAPE::WEIGHTED) return NULL;
  const float *value = op.value + strip + sum_before(__popc(word[0]));
  if (word[0]) asm volatile("prefetch.global.L1 [%0];" ::"l"(value));
  return value;
}

/* The one thread that fetches boxes: the next tile of the window, its segment, its stage of the ring. */
struct feeder {
  const int32_t *segment;
  int tiles, next, row, slot;
  uint32_t parity; /* of the slot's next emptying */
};

/* Of a piece's tiles, from its first one on. */
static __device__ __forceinline__ struct feeder feeder_of(const int32_t *segments,
                                                          const struct window_piece &w, int tiles) {
  const int32_t *segment = segments + w.first;
  return {segment, tiles, 0, __ldg(segment), 0, 1};
}

/* Starts the copies for the next tile, whose stage is empty. */
template <class SHAPE>
static __device__ __forceinline__ void fetch(const struct product &op, const CUtensorMap *x,
                                             unsigned char *stage, ring<SHAPE> &ring, struct feeder &f) {
  const int row = f.row * TILE_COLS;
  unsigned char *to = stage + f.slot * SHAPE::STAGE_BYTES;
  barrier_expect(&ring.full[f.slot], SHAPE::STAGE_BYTES);
#pragma unroll
  for (int p = 0; p < SHAPE::PLANES; p++) {
#pragma unroll
    for (int g = 0; g < SHAPE::GROUPS; g++, to += SHAPE::GROUP_BYTES)
      copy_box(to, x, &ring.full[f.slot], p * op.plane + (int)blockIdx.y * SHAPE::COLUMNS + g * 64, row);
  }
  if (++f.next < f.tiles) f.row = __ldg(f.segment + f.next);
  if (++f.slot == SHAPE::STAGES) f.slot = 0, f.parity ^= 1;
}

/* Fetches up to tile `end`, waiting for stages to become empty. */
template <class SHAPE>
static __device__ __forceinline__ void fetch_until(const struct product &op, const CUtensorMap *x,
                                                   unsigned char *stage, ring<SHAPE> &ring, struct feeder &f,
                                                   int end) {
  while (f.next < min(end, f.tiles)) {
    if (f.next >= SHAPE::STAGES) barrier_wait(&ring.empty[f.slot], f.parity);
    fetch<SHAPE>(op, x, stage, ring, f);
  }
}

/* Fetches into stages that are empty already, a step's at most. */
template <class SHAPE>
static __device__ __forceinline__ void fetch_ahead(const struct product &op, const CUtensorMap *x,
                                                   unsigned char *stage, ring<SHAPE> &ring,
                                                   struct feeder &f) {
#pragma unroll 1
  for (int u = 0; u < SHAPE::STEP && f.next < f.tiles; u++) {
    if (!barrier_test(&ring.empty[f.slot], f.parity)) return;
    fetch<SHAPE>(op, x, stage, ring, f);
  }
}

template <class SHAPE> static __device__ __forceinline__ void open_ring(ring<SHAPE> &ring) {
  for (int s = 0; s < SHAPE::STAGES; s++) {
    barrier_init(&ring.full[s], 1);
    barrier_init(&ring.empty[s], BLOCK / 32);
  }
  show_barriers();
}

/* This thread's accumulators to the piece's rows. Whether one of them, of X's columns, is not finite. */
template <class SHAPE>
static __device__ __forceinline__ bool write_sums(const struct product &op, const struct window_piece &w,
                                                  const float (&sum)[SHAPE::COLUMNS / 2]) {
  const int lane = threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16 + lane / 4;
  const int col = (int)blockIdx.y * SHAPE::COLUMNS + 2 * (lane % 4);
  float *to = op.sums + ((int64_t)w.place * TILE_ROWS + row) * op.stride + blockIdx.y * SHAPE::COLUMNS;
  const float factor = SHAPE::WEIGHTED ? 1 : .5f; /* see pair_of */
  bool spoilt = false;
#pragma unroll
  for (int i = 0; i < SHAPE::COLUMNS / 2; i++)
    spoilt |= !is_finite(sum[i]) && col + i / 4 * 8 + i % 2 < op.width;
#pragma unroll
  for (int half = 0; half < 2; half++, to += 8 * op.stride) {
#pragma unroll
    for (int j = 0; j < SHAPE::COLUMNS / 8; j++)
      *(float2 *)(to + 8 * j + 2 * (lane % 4)) = make_float2(factor * sum[4 * j + 2 * half],
                                                             factor * sum[4 * j + 2 * half + 1]);
  }
  return spoilt;
}

/* Adds the arcs of row r of a tile for columns col, col + 32, ... of X. */
template <class SHAPE>
static __device__ void add_arcs(const struct product &op, int tile, int r, int col,
                                float (&sum)[SHAPE::COLUMNS / 32]) {
  const int64_t strip = (int64_t)tile * TILE_STRIPS + r / 16;
  const uint32_t *bits = op.bits + strip * STRIP_WORDS + r % 8 * 4;
  const float *value = SHAPE::WEIGHTED ? op.value + op.first[strip] : NULL;
  for (int i = 0; SHAPE::WEIGHTED && i < r % 8 * 4; i++) value += __popc(op.bits[strip * STRIP_WORDS + i]);
  for (int q = 0; q < 4; q++) {
    uint32_t word = bits[q] & (r % 16 < 8 ? 0x55555555u : 0xAAAAAAAAu); /* see tile_bit_of */
    for (; word; word &= word - 1) {
      const int b = __ffs(word) - 1;
      const int u = b % 16 / 4 * 16 + b % 4 / 2 * 8 + 2 * q + b / 16;
      const float weight = SHAPE::WEIGHTED ? value[__popc(bits[q] & ((1u << b) - 1))] : 1;
      const bf16 *x = op.x + (int64_t)(op.segment[tile] * TILE_COLS + u) * op.x_stride + col;
#pragma unroll
      for (int j = 0; j < SHAPE::COLUMNS / 32; j++) {
        if (col + 32 * j >= op.width) continue;
        sum[j] += weight * ((float)x[32 * j] + (SHAPE::PLANES > 1 ? (float)x[op.plane + 32 * j] : 0));
      }
    }
    if (SHAPE::WEIGHTED) value += __popc(bits[q]);
  }
}

/* Products with all 64 columns of a tile give a NaN for 0 times what is not finite, in rows without such an
 * arc too; and sums of 2 X overflow early. Sums that are not finite are taken again arc by arc, a warp a row.
 */
template <class SHAPE>
static __device__ __noinline__ void sum_again(const struct product &op, const struct window_piece &w) {
  const int col = (int)blockIdx.y * SHAPE::COLUMNS + (int)threadIdx.x % 32;
  for (int r = (int)threadIdx.x / 32; r < TILE_ROWS; r += BLOCK / 32) {
    float *to = op.sums + ((int64_t)w.place * TILE_ROWS + r) * op.stride + col;
    float sum[SHAPE::COLUMNS / 32] = {};
    bool spoilt = false;
#pragma unroll
    for (int j = 0; j < SHAPE::COLUMNS / 32; j++) spoilt |= !is_finite(to[32 * j]) && col + 32 * j < op.width;
    if (!__any_sync(~0u, spoilt)) continue;
    for (int t = w.first; t < w.end; t++) add_arcs<SHAPE>(op, t, r, col, sum);
#pragma unroll
    for (int j = 0; j < SHAPE::COLUMNS / 32; j++)
      if (!is_finite(to[32 * j])) to[32 * j] = sum[j];
  }
}

/* What the two groups of four warps do; thread 0 fetches, too, if nobody else does. Whether a sum of this
 * thread is not finite. */
template <class SHAPE>
static __device__ __forceinline__ bool sum_window(const struct product &op, const CUtensorMap *x,
                                                  const struct window_piece &w, int tiles,
                                                  unsigned char *stage, ring<SHAPE> &ring, struct feeder &f) {
  constexpr int STEP = SHAPE::STEP;
  const bool fetches = !SHAPE::FED && threadIdx.x == 0;
  float sum[SHAPE::COLUMNS / 2] = {};
  const uint32_t *bits = op.bits + (int64_t)w.first * TILE_WORDS + threadIdx.x;
  uint32_t word[STEP];
#pragma unroll
  for (int u = 0; u < STEP; u++) word[u] = u < tiles ? __ldg(bits + u * TILE_WORDS) : 0;
  const float *value = value_of<SHAPE>(op, strip_of<SHAPE>(op, w.first), word);
  int slot = 0;
  uint32_t parity = 0;
  for (int i = 0; i < tiles; i += STEP) {
    uint32_t a[STEP * SHAPE::FACTORS][4][4], from[STEP];
    int used[STEP];
    expand<SHAPE>(word, value, a, std::integral_constant<bool, SHAPE::WEIGHTED>());
    bits += STEP * TILE_WORDS;
#pragma unroll
    for (int u = 0; u < STEP; u++) word[u] = i + STEP + u < tiles ? __ldg(bits + u * TILE_WORDS) : 0;
    const int64_t strip = strip_of<SHAPE>(op, w.first + min(i + STEP, tiles - 1));
    if (fetches) fetch_until<SHAPE>(op, x, stage, ring, f, i + STEP);
    __syncwarp();
#pragma unroll
    for (int u = 0; u < STEP; u++) {
      used[u] = used[0]; /* behind the end: no bits against the last stage */
      if (u == 0 || i + u < tiles) {
        used[u] = slot;
        barrier_wait(&ring.full[slot], parity);
        if (++slot == SHAPE::STAGES) slot = 0, parity ^= 1;
      }
      from[u] = shared_address(stage + used[u] * SHAPE::STAGE_BYTES);
    }
    pin(a);
    pin(sum);
    open_products();
#pragma unroll
    for (int u = 0; u < STEP; u++) {
#pragma unroll
      for (int p = 0; p < SHAPE::PLANES; p++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const uint64_t rows = boxed_matrix(from[u] + p * SHAPE::GROUPS * SHAPE::GROUP_BYTES + k * 2048,
                                             SHAPE::GROUP_BYTES);
          /* The product of the two lower planes is beneath fp32's accuracy. */
#pragma unroll
          for (int f = 0; f + p < SHAPE::FACTORS || f == 0; f++) multiply(sum, a[u + f][k], rows);
        }
      }
    }
    close_products();
    if (fetches) fetch_ahead<SHAPE>(op, x, stage, ring, f);
    __syncwarp();
    value = value_of<SHAPE>(op, strip, word);
    wait_for_products<0>();
    pin(sum);
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int u = 0; u < STEP; u++) {
        if (u == 0 || i + u < tiles) barrier_arrive(&ring.empty[used[u]]);
      }
    }
  }
  return write_sums<SHAPE>(op, w, sum);
}

template <class SHAPE>
static __device__ __forceinline__ void multiply_window(const CUtensorMap &map, const struct product &op) {
  extern __shared__ __align__(1024) unsigned char stage[];
  __shared__ ring<SHAPE> ring;
  const struct window_piece w = op.piece[blockIdx.x];
  const int tiles = __shfl_sync(~0u, w.end - w.first, 0); /* alike in the warp, and known to be */
  const bool sums = !SHAPE::FED || threadIdx.x < BLOCK;
  struct feeder f = feeder_of(op.segment, w, tiles);
  bool spoilt = false;
  if (threadIdx.x == 0) {
    open_ring<SHAPE>(ring);
    if (!SHAPE::FED) fetch_until<SHAPE>(op, &map, stage, ring, f, SHAPE::STAGES);
  }
  __syncthreads();
  if (sums)
    spoilt = sum_window<SHAPE>(op, &map, w, tiles, stage, ring, f);
  else if (threadIdx.x == BLOCK)
    fetch_until<SHAPE>(op, &map, stage, ring, f, tiles);
  __syncwarp();
  if (__syncthreads_or(spoilt) && sums) sum_again<SHAPE>(op, w);
}

#endif

#endif
