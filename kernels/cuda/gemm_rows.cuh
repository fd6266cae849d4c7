/* C = A B for a tall A [m, k] and a small B [k, n], with the end of a layer: the kernel.
 *
 * Groups of warps walk over tiles of rows on their own. A tile's rows stream through shared memory in parts
 * of 128 bytes of each row, a few parts ahead; a warp sums 32 rows by 8 WIDE columns in registers. B is cut
 * into what each lane needs for a step of 64 bytes along k and kept so: whole, where it fits into shared
 * memory, where the groups then work at different places and one's stores hide behind another's products;
 * else it streams with A, for one large group. All columns in k and n can be permuted alike on both sides, so
 * a lane reads and writes 16 bytes at once. */
#ifndef KERNELS_CUDA_GEMM_ROWS_CUH
#define KERNELS_CUDA_GEMM_ROWS_CUH

#include "kernels/cuda/gemm_end.cuh"
#include "kernels/cuda/gemm_pieces.cuh"

struct rows_product {
  const void *a, *b;
  const uint4 *panel; /* B as lanes need it, by tiles of columns; where it streams */
  int64_t a_stride, b_stride, m, tiles;
  int n, k, steps, parts; /* parts of the sum, of two steps each; at least one */
  int height;             /* rows of a tile */
  int stages;             /* parts under way, this one included: 2 to 4 */
  bool a_aligned, transpose_b;
  struct end end;
};

/* A group's warps: M along the rows, N along the columns. */
template <int WIDE_, int M_, int N_, int GROUPS_, bool STREAMS_> struct grouping {
  static constexpr int WIDE = WIDE_, M = M_, N = N_, GROUPS = GROUPS_;
  static constexpr bool STREAMS = STREAMS_;
  static constexpr int THREADS = 32 * M * N, ROWS = 32 * M, BLOCKS = WIDE * N, COLS = 8 * BLOCKS;
  static constexpr int STEP = 32 * BLOCKS;                         /* 16 bytes of B in a step */
  static constexpr int SLOT = 8 * ROWS + (STREAMS ? 2 * STEP : 0); /* and those of a part */
};

constexpr int PIECE = 128; /* 16 bytes of a warp's piece of sums */

/* Columns along k in a step: 16 floats, or 32 bf16. */
template <class T> constexpr int STEP_COLS = 4 * CHUNK<T>;

template <class T>
static __device__ __forceinline__ T element_of_b(const struct rows_product &p, int row, int64_t col) {
  if (row >= p.k || col >= p.n) return T(0.0f);
  const T *b = (const T *)p.b;
  return p.transpose_b ? b[col * p.b_stride + row] : b[row * p.b_stride + col];
}

/* What a lane needs of eight columns of B in a step: hi and mid of k = 4 q to 4 q + 3; in bf16 8 q to 8 q
 * + 7. */
template <class T>
static __device__ __forceinline__ uint4 panel_chunk(const struct rows_product &p, int step, int64_t first_col,
                                                    int block, int lane) {
  const int g = lane / 4, q = lane % 4, row = step * STEP_COLS<T> + q * CHUNK<T>;
  const int64_t col = first_col + block / 2 * 16 + g / 2 * 4 + block % 2 * 2 + g % 2;
  T element[CHUNK<T>];
#pragma unroll
  for (int j = 0; j < CHUNK<T>; j++) element[j] = element_of_b<T>(p, row + j, col);
  if constexpr (sizeof(T) == 4) {
    const struct pieces low = split(element[0], element[1]), high = split(element[2], element[3]);
    return make_uint4(low.hi, high.hi, low.mid, high.mid);
  } else {
    uint4 chunk;
    memcpy(&chunk, element, 16);
    return chunk;
  }
}

template <class T>
static __device__ __forceinline__ void write_panel(const struct rows_product &p, int steps, int64_t first_col,
                                                   int blocks, int64_t i, int64_t stride, uint4 *panel) {
  for (; i < (int64_t)steps * blocks * 32; i += stride)
    panel[i] = panel_chunk<T>(p, (int)(i / (blocks * 32)), first_col, (int)(i / 32 % blocks), (int)(i % 32));
}

/* Where a group stands: a part of a tile, and the slot of shared memory that it is in. */
struct place {
  int64_t tile;
  int part, slot;
};

static __device__ __forceinline__ void go_on(const struct rows_product &p, int64_t stride, struct place &at) {
  if (++at.slot == p.stages) at.slot = 0;
  if (++at.part < p.parts) return;
  at.part = 0;
  at.tile += stride;
}

static __device__ __forceinline__ int rows_of_tile(const struct rows_product &p, int64_t tile) {
  return (int)min((int64_t)p.height, p.m - tile * p.height);
}

/* The eight chunks of a row's part; odd rows have their halves swapped, for two rows then lie in all banks.
 */
template <class T, class G>
static __device__ __forceinline__ void load_part(const struct rows_product &p, const struct place &at,
                                                 int thread, uint4 *ring) {
  if (at.tile >= p.tiles) return;
  uint4 *slot = ring + at.slot * G::SLOT;
  const int row = thread / 8, chunk = thread % 8, rows = rows_of_tile(p, at.tile);
  const int col = (at.part * 8 + chunk) * CHUNK<T>, count = count_before<T>(col, p.k);
  const T *from = (const T *)p.a + (at.tile * p.height + row) * p.a_stride + col;
  uint4 *to = slot + row * 8 + (chunk ^ (row & 1) << 2);
#pragma unroll
  for (int r = 0; r < G::ROWS; r += G::THREADS / 8) {
    const bool is_there = row + r < rows && count > 0;
    copy_chunk(to + r * 8, is_there ? from + r * p.a_stride : (const T *)p.a, is_there ? count : 0,
               p.a_aligned);
  }
  if constexpr (G::STREAMS) {
    const uint4 *panel = p.panel + ((int64_t)blockIdx.y * p.parts + at.part) * 2 * G::STEP;
#pragma unroll
    for (int i = 0; i < 2 * G::STEP; i += G::THREADS)
      copy_chunk(slot + 8 * G::ROWS + i + thread, (const float *)(panel + i + thread), CHUNK<float>, true);
  }
}

/* A's part of a step for 16 rows: hi and mid, or the two halves of 32 columns. */
struct fragment {
  uint32_t word[2][4];
};

template <class T>
static __device__ __forceinline__ struct fragment fragment_of(const uint4 *rows, int half, int lane) {
  const int g = lane / 4, chunk = (half * 4 + lane % 4) ^ (g & 1) << 2;
  const uint4 x = rows[g * 8 + chunk], y = rows[(g + 8) * 8 + chunk];
  if constexpr (sizeof(T) == 4) {
    const struct pieces a = split(__uint_as_float(x.x), __uint_as_float(x.y));
    const struct pieces b = split(__uint_as_float(y.x), __uint_as_float(y.y));
    const struct pieces c = split(__uint_as_float(x.z), __uint_as_float(x.w));
    const struct pieces d = split(__uint_as_float(y.z), __uint_as_float(y.w));
    return {{{a.hi, b.hi, c.hi, d.hi}, {a.mid, b.mid, c.mid, d.mid}}};
  } else {
    return {{{x.x, y.x, x.y, y.y}, {x.z, y.z, x.w, y.w}}};
  }
}

/* sum += A B over STEPS steps, for both halves of a warp's rows and two blocks of columns: four chains of
 * products, each step of which follows those of the others. */
template <class T, int STEPS>
static __device__ __forceinline__ void add_steps(const struct fragment (&a)[2][STEPS],
                                                 const uint4 (&b)[2][STEPS], float (&first)[2][4],
                                                 float (&second)[2][4]) {
  if constexpr (sizeof(T) == 4) {
    float part[4][4];
#pragma unroll
    for (int i = 0; i < 12 * STEPS; i++) {
      const int s = i / 12, m = i / 2 % 2, j = i % 2;
      const uint4 &right = b[j][s];
      if (i < 4)
        set_product(part[i], a[m][s].word[1], right.x, right.y);
      else if (i % 12 < 4)
        add_product(part[i % 4], a[m][s].word[1], right.x, right.y);
      else if (i % 12 < 8)
        add_product(part[i % 4], a[m][s].word[0], right.z, right.w);
      else
        add_product(part[i % 4], a[m][s].word[0], right.x, right.y);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
      first[i / 4][i % 4] += part[i / 4 * 2][i % 4];
      second[i / 4][i % 4] += part[i / 4 * 2 + 1][i % 4];
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4 * STEPS; i++) {
      const int s = i / 4, half = i / 2 % 2;
      const uint4 &right = b[i % 2][s];
      float(&sum)[2][4] = i % 2 ? second : first;
      add_product(sum[0], a[0][s].word[half], half ? right.z : right.x, half ? right.w : right.y);
      add_product(sum[1], a[1][s].word[half], half ? right.z : right.x, half ? right.w : right.y);
    }
  }
}

/* The warp's rows by its columns over the steps of a part. */
template <class T, class G, int STEPS>
static __device__ __forceinline__ void add_part(const uint4 *rows, const uint4 *panel, int lane,
                                                float (&sum)[G::WIDE][2][4]) {
  struct fragment a[2][STEPS];
#pragma unroll
  for (int i = 0; i < 2 * STEPS; i++)
    a[i / STEPS][i % STEPS] = fragment_of<T>(rows + i / STEPS * 128, i % STEPS, lane);
#pragma unroll
  for (int j = 0; j < G::WIDE; j += 2) {
    uint4 b[2][STEPS];
#pragma unroll
    for (int i = 0; i < 2 * STEPS; i++) b[i % 2][i / 2] = panel[i / 2 * G::STEP + (j + i % 2) * 32 + lane];
    add_steps<T>(a, b, sum[j], sum[j + 1]);
  }
}

/* The threads of a group meet; the block's other groups do not take part. */
template <class G> static __device__ __forceinline__ void meet(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(G::THREADS) : "memory");
}

/* What a block keeps in shared memory: bias, totals of columns, a piece of its sums for each warp, B's panel,
 * then a ring of slots for each group. */
struct memory {
  float *bias;
  double *totals;
  float4 *pieces;
  uint4 *panel, *ring;
};

template <class G> static __device__ __forceinline__ struct memory memory_of(const struct rows_product &p) {
  extern __shared__ uint4 shared[];
  const int groups = blockDim.x / G::THREADS, group = threadIdx.x / G::THREADS;
  struct memory m = {(float *)shared};
  m.totals = (double *)(shared + G::COLS / 4);
  m.pieces = (float4 *)m.totals + (p.end.sums ? groups * G::M * G::COLS / 2 : 0);
  m.panel = (uint4 *)m.pieces + blockDim.x / 32 * PIECE;
  m.ring = m.panel + (G::STREAMS ? 0 : p.steps * G::STEP) + group * p.stages * G::SLOT;
  m.pieces += threadIdx.x / 32 * PIECE;
  return m;
}

template <class T, class G>
static __device__ __forceinline__ void prepare(const struct rows_product &p, const struct memory &m) {
  const int64_t first_col = (int64_t)blockIdx.y * G::COLS;
  const int rows = p.end.sums ? blockDim.x / G::THREADS * G::M : 0;
  if (!G::STREAMS) write_panel<T>(p, p.steps, first_col, G::BLOCKS, threadIdx.x, blockDim.x, m.panel);
  for (int j = threadIdx.x; j < G::COLS; j += blockDim.x)
    m.bias[j] = p.end.bias && first_col + j < p.n ? p.end.bias[first_col + j] : 0;
  for (int j = threadIdx.x; j < rows * G::COLS; j += blockDim.x) m.totals[j] = 0;
  __syncthreads();
}

/* Which rows and columns of a tile a warp has. */
struct warp {
  int row, col, lane;
};

/* Sums leave a warp by pieces of 8 rows and 64 columns, through shared memory: lanes hold four columns of
 * many rows, and should go along rows. Odd rows have neighbouring fours of chunks swapped. */
template <int WIDE>
static __device__ __forceinline__ void put_piece(const float (&sum)[WIDE][2][4], int piece, int lane,
                                                 float4 *to) {
  const int g = lane / 4;
#pragma unroll
  for (int i = 0; i < (WIDE + 7) / 8 * 4; i++) {
    if (i != piece) continue;
    const int m = i / 2 % 2, h = i % 2 * 2;
#pragma unroll
    for (int j = i / 4 * 8; j < i / 4 * 8 + 8 && j < WIDE; j += 2)
      to[g * 16 + ((j % 8 * 2 + lane % 4) ^ (g & 1) << 2)] = make_float4(
          sum[j][m][h], sum[j][m][h + 1], sum[j + 1][m][h], sum[j + 1][m][h + 1]);
  }
}

static __device__ __forceinline__ void take_quad(const float4 *piece, int row, int lane, float (&x)[4]) {
  const float4 four = piece[row * 16 + (lane % 16 ^ (row & 1) << 2)];
  x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
}

/* A lane's quads of a piece: rows v + 2 i and v + 2 i + 4, i < 2, in the same columns. */
struct span {
  int64_t v, end; /* rows; there is none from `end` on */
  int row, col, n;
};

static __device__ __forceinline__ struct quad quad_of(const struct span &at, int i, int second) {
  const int64_t v = at.v + 2 * i + 4 * second;
  return {v, at.col, v < at.end ? at.n : 0};
}

static __device__ __forceinline__ uint32_t kept_of(const struct end &e, const struct span &at, int i) {
  if (!needs_mask(e)) return 0;
  return kept_of_two_rows(e, e.scalars->epoch, quad_of(at, i, 0), quad_of(at, i, 1), at.col & 4);
}

/* T: of C. */
template <class T>
static __device__ __forceinline__ void end_forward(const struct end &e, const struct span &at,
                                                   const float (&bias)[4], const float4 *piece, int lane) {
  float x[4];
#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    const uint32_t kept = kept_of(e, at, i);
#pragma unroll
    for (int second = 0; second < 2; second++) {
      const struct quad quad = quad_of(at, i, second);
      take_quad(piece, at.row + 2 * i + 4 * second, lane, x);
      if (quad.n > 0) finish_forward<T>(e, quad, bias, kept >> 4 * second, x);
    }
  }
}

template <class T>
static __device__ __forceinline__ void load_saved(const struct end &e, const struct span &at,
                                                  float (&saved)[4][4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const struct quad quad = quad_of(at, i / 2, i % 2);
    if (quad.n > 0 && e.activation != ACTIVATION_NONE) load_quad<T>(e.saved, quad, e.aligned, saved[i]);
  }
}

/* The same backward; total += the columns' sums. */
template <class T>
static __device__ __forceinline__ void end_backward(const struct end &e, const struct span &at,
                                                    const float (&bias)[4], const float (&saved)[4][4],
                                                    const float4 *piece, int lane, float (&total)[4]) {
  float x[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t kept = i % 2 ? 0 : kept_of(e, at, i / 2);
    const struct quad quad = quad_of(at, i / 2, i % 2);
    take_quad(piece, at.row + 2 * (i / 2) + 4 * (i % 2), lane, x);
    if (quad.n <= 0) continue;
    finish_backward<T>(e, quad, bias, kept >> 4 * (i % 2), saved[i], x);
#pragma unroll
    for (int j = 0; j < 4; j++) total[j] += x[j];
  }
}

/* Adds the lanes' sums of four columns to the warp's. */
static __device__ __forceinline__ void add_totals(int lane, float (&total)[4], double *totals) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    total[j] += __shfl_xor_sync(~0u, total[j], 16);
    if (lane < 16) totals[lane * 4 + j] += (double)total[j];
    total[j] = 0;
  }
}

template <class T, class G>
static __device__ __forceinline__ void end_tile(const struct rows_product &p, const struct memory &m,
                                                int64_t tile, const struct warp &warp,
                                                const float (&sum)[G::WIDE][2][4]) {
  const struct end &e = p.end;
  const int lane = warp.lane, row = lane / 16, quad = lane % 16 * 4;
  double *totals = m.totals + (threadIdx.x / G::THREADS * G::M + warp.row / 32) * G::COLS + warp.col;
  float total[4] = {}, saved[4][4] = {}, bias[4];
#pragma unroll 1
  for (int piece = 0; piece < (G::WIDE + 7) / 8 * 4; piece++) {
    const int col = warp.col + piece / 4 * 64 + quad, at_col = (int)blockIdx.y * G::COLS + col;
    const int64_t v = tile * p.height + warp.row + piece % 4 * 8 + row;
    const int n = col < warp.col + 8 * G::WIDE ? min(4, p.n - at_col) : 0;
    const struct span at = {v, tile * p.height + rows_of_tile(p, tile), row, at_col, n};
    if (e.backward) load_saved<T>(e, at, saved);
    put_piece<G::WIDE>(sum, piece, lane, m.pieces);
    load(m.bias + (n > 0 ? col : 0), 4, true, bias);
    __syncwarp();
    if (e.backward)
      end_backward<T>(e, at, bias, saved, m.pieces, lane, total);
    else if (sizeof(T) == 2 && e.c.dtype == F32)
      end_forward<float>(e, at, bias, m.pieces, lane);
    else
      end_forward<T>(e, at, bias, m.pieces, lane);
    __syncwarp();
    if (e.sums && piece % 4 == 3) add_totals(lane, total, totals + piece / 4 * 64);
  }
}

/* The block's column sums from its warps'. totals: [rows of warps, COLS]. */
template <class G>
static __device__ __forceinline__ void write_sums(const struct rows_product &p, const double *totals) {
  const int rows = blockDim.x / G::THREADS * G::M;
  __syncthreads();
  for (int j = threadIdx.x; j < G::COLS; j += blockDim.x) {
    double sum = 0;
    for (int r = 0; r < rows; r++) sum += totals[r * G::COLS + j];
    const int64_t col = (int64_t)blockIdx.y * G::COLS + j;
    if (col < p.n) p.end.sums[(int64_t)blockIdx.x * p.n + col] = sum;
  }
}

template <class T, class G>
static __global__ void __launch_bounds__(G::THREADS *G::GROUPS, 1)
    rows_kernel(const __grid_constant__ struct rows_product p) {
  const int group = threadIdx.x / G::THREADS, thread = threadIdx.x % G::THREADS;
  const struct warp warp = {thread / 32 % G::M * 32, thread / 32 / G::M * G::WIDE * 8, thread % 32};
  const int64_t stride = (int64_t)gridDim.x * (blockDim.x / G::THREADS);
  const struct memory memory = memory_of<G>(p);
  float sum[G::WIDE][2][4] = {};
  struct place at = {(int64_t)blockIdx.x * (blockDim.x / G::THREADS) + group, 0, 0}, ahead = at;
  prepare<T, G>(p, memory);
  for (int i = 0; i < p.stages - 1; i++, go_on(p, stride, ahead)) {
    load_part<T, G>(p, ahead, thread, memory.ring);
    close_batch();
  }
  for (; at.tile < p.tiles; go_on(p, stride, at), go_on(p, stride, ahead)) {
    wait_for_batches(p.stages - 2);
    meet<G>(group);
    load_part<T, G>(p, ahead, thread, memory.ring);
    close_batch();
    const uint4 *slot = memory.ring + at.slot * G::SLOT;
    const uint4 *panel = G::STREAMS ? slot + 8 * G::ROWS : memory.panel + 2 * at.part * G::STEP;
    const int steps = p.steps - 2 * at.part;
    if (steps >= 2)
      add_part<T, G, 2>(slot + warp.row * 8, panel + warp.col * 4, warp.lane, sum);
    else if (steps == 1)
      add_part<T, G, 1>(slot + warp.row * 8, panel + warp.col * 4, warp.lane, sum);
    if (at.part + 1 < p.parts) continue;
    end_tile<T, G>(p, memory, at.tile, warp, sum);
    memset(sum, 0, sizeof sum);
  }
  if (p.end.sums) write_sums<G>(p, memory.totals);
}

#endif
