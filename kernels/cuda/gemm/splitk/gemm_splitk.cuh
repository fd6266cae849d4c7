/* C = A^T B for tall A [rows, m] and B [rows, n], gradients of weights: the kernel.
 *
 * A block has a tile of C, columns of one matrix ("left") by columns of the other ("right"), and a share of
 * the rows, which stream through shared memory in parts. Each warp cuts 32 columns of the left side
 * into pieces; the right side is cut once for all, into shared memory, while the products of the part before
 * go on. Every FLUSH rows the sums in registers are added to the block's tile in the workspace, rounded to
 * nearest, for tensor cores cut off; add_tiles sums the tiles of all shares, in order. The sum's terms and
 * the tile's rows and columns may be permuted alike on both sides: lanes take neighbouring columns at once.
 */
#ifndef KERNELS_CUDA_GEMM_SPLITK_GEMM_SPLITK_CUH
#define KERNELS_CUDA_GEMM_SPLITK_GEMM_SPLITK_CUH

#include <type_traits>

#include "kernels/cuda/gemm/gemm_split.cuh"
#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

constexpr int FLUSH = 512;

struct sums_product {
  struct tensor left, right;
  int64_t share; /* rows of a block */
  int right_tiles, tiles, stages;
  bool aligned;
  float *partial; /* [shares, tiles, LEFT_COLS, right columns of a tile] */
};

/* Chunks from one row to the next of COLS columns in shared memory: two chunks of four rows in a sequence
 * then lie in all banks. */
template <class T, int COLS> constexpr int PITCH = (COLS / CHUNK<T> + 5) / 8 * 8 + 2;

/* 16 bytes of shared memory for a tile of 8 BLOCKS right columns: a part of ROWS rows as it comes; the right
 * side's 16 rows cut [plane][half][block][column]. */
template <class T, int BLOCKS_, int ROWS_> struct tile_of {
  static constexpr int BLOCKS = BLOCKS_, COLS = 8 * BLOCKS, PLANES = (int)sizeof(T) / 2, ROWS = ROWS_;
  static constexpr int LEFT = PITCH<T, LEFT_COLS>, RIGHT = PITCH<T, COLS>, SLOT = ROWS * (LEFT + RIGHT);
  static constexpr int STEP = PLANES * 2 * COLS, STEPS = ROWS / 16, CUT = STEPS * STEP;
};

/* Columns of one side on their way to shared memory: each thread has a chunk of every PASS-th row. */
template <class T, int COLS> struct side {
  static constexpr int ACROSS = COLS / CHUNK<T>, LANES = ACROSS > 32   ? 64
                                                         : ACROSS > 16 ? 32
                                                         : ACROSS > 8  ? 16
                                                                       : 8;
  static constexpr int PASS = BLOCK / LANES;
  const T *from; /* the thread's chunk of the first row to come */
  int64_t stride;
  int count, place; /* elements of the chunk that are there; where it goes */
};

template <class T, int COLS>
static __device__ __forceinline__ void open_side(const struct tensor &t, int64_t row, int64_t first,
                                                 struct side<T, COLS> &s) {
  const int chunk = threadIdx.x % s.LANES, line = threadIdx.x / s.LANES;
  const int64_t col = first + chunk * CHUNK<T>;
  s.stride = t.stride;
  s.count = chunk < s.ACROSS ? count_before<T>(col, t.cols) : 0;
  s.from = (const T *)t.data + (row + line) * t.stride + (s.count > 0 ? col : 0);
  s.place = chunk < s.ACROSS ? line * PITCH<T, COLS> + chunk : -1;
}

/* The next ROWS rows, `rows` of which are there. */
template <class T, int COLS, int ROWS>
static __device__ __forceinline__ void load_rows(struct side<T, COLS> &s, const void *data, int rows,
                                                 bool aligned, uint4 *to) {
  const int line = threadIdx.x / s.LANES;
#pragma unroll
  for (int r = 0; r < ROWS; r += s.PASS) {
    const int count = line + r < rows ? s.count : 0;
    if (s.place < 0) break;
    copy_chunk(to + s.place + r * PITCH<T, COLS>, count > 0 ? s.from + r * s.stride : (const T *)data, count,
               aligned);
  }
  s.from += ROWS * s.stride;
}

/* COUNT neighbouring elements, read as one. */
template <class T, int COUNT> struct alignas(COUNT * sizeof(T)) neighbours {
  typename std::conditional<sizeof(T) == 4, float, uint16_t>::type x[COUNT];
};

/* Two rows' elements of a column as products take them: hi and mid, or bf16 as they are. */
static __device__ __forceinline__ void pair_rows(float x, float y, uint32_t (&word)[2]) {
  const struct bf16x2_split pair = split(x, y);
  word[0] = pair.hi;
  word[1] = pair.mid;
}

static __device__ __forceinline__ void pair_rows(uint16_t x, uint16_t y, uint32_t (&word)[1]) {
  word[0] = (uint32_t)x | (uint32_t)y << 16;
}

/* Sixteen rows of a warp's 32 left columns: two left matrices of 16 columns each, in planes. Lane 4 g + q
 * takes the columns 4 g to 4 g + 3 of the rows q, q + 4, q + 8, q + 12 for its terms 2 q, 2 q + 1 of one half
 * and of the other. */
template <class T>
static __device__ __forceinline__ void read_left(const uint4 *rows, int col, int q,
                                                 uint32_t (&a)[2][sizeof(T) / 2][4]) {
  neighbours<T, 4> row[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    row[i] = *(const neighbours<T, 4> *)((const T *)(rows + (q + 4 * i) * PITCH<T, LEFT_COLS>)+col);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int j = i / 2, half = i % 2;
    uint32_t word[sizeof(T) / 2];
    pair_rows(row[2 * half].x[j], row[2 * half + 1].x[j], word);
#pragma unroll
    for (int plane = 0; plane < (int)sizeof(T) / 2; plane++) a[j / 2][plane][j % 2 + 2 * half] = word[plane];
  }
}

/* The right side's part, cut: each thread takes two columns of eight rows at a time. */
template <class T, class G> static __device__ __forceinline__ void cut_right(const uint4 *rows, uint4 *cut) {
  constexpr int UNITS = G::COLS / 2 * 2 * G::STEPS; /* by steps of two halves */
#pragma unroll
  for (int i = 0; i < (UNITS + BLOCK - 1) / BLOCK; i++) {
    const int unit = i * BLOCK + threadIdx.x, col = unit % (G::COLS / 2) * 2, eight = unit / (G::COLS / 2);
    if (UNITS % BLOCK && unit >= UNITS) break;
    neighbours<T, 2> row[8];
    uint32_t word[2][4][G::PLANES];
#pragma unroll
    for (int r = 0; r < 8; r++)
      row[r] = *(const neighbours<T, 2> *)((const T *)(rows + (eight * 8 + r) * G::RIGHT) + col);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      pair_rows(row[q].x[0], row[q + 4].x[0], word[0][q]);
      pair_rows(row[q].x[1], row[q + 4].x[1], word[1][q]);
    }
    const int block = col / 16 * 2 + col / 2 % 2, column = col / 4 % 4 * 2;
    uint4 *to = cut + eight / 2 * G::STEP + eight % 2 * G::COLS + block * 8 + column;
#pragma unroll
    for (int j = 0; j < 2 * G::PLANES; j++) {
      const int c = j % 2, plane = j / 2;
      to[plane * 2 * G::COLS + c] = make_uint4(word[c][0][plane], word[c][1][plane], word[c][2][plane],
                                               word[c][3][plane]);
    }
  }
}

/* sum += 16 rows' products for both left matrices, as one group. */
template <class T, int BLOCKS>
static __device__ __forceinline__ void multiply_rows(const uint32_t (&a)[2][sizeof(T) / 2][4], uint64_t cut,
                                                     int adds, float (&sum)[2][BLOCKS][4]) {
  open_products();
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if constexpr (sizeof(T) == 4) {
      multiply(sum[i], a[i][1], cut, adds);
      multiply(sum[i], a[i][0], further(cut, 256 * BLOCKS), 1);
      multiply(sum[i], a[i][0], cut, 1);
    } else {
      multiply(sum[i], a[i][0], cut, adds);
    }
  }
  close_products();
}

/* Adds four floats in memory that no other thread writes. */
static __device__ __forceinline__ void add_in_memory(float *to, float4 x) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(to), "f"(x.x), "f"(x.y),
               "f"(x.z), "f"(x.w)
               : "memory");
}

/* The block's tile = or += its sums. Lane 4 g + q holds left columns 4 g + 2 i + h, h < 2, of the warp's and
 * right columns 8 j + 4 q to 8 j + 4 q + 3, j even. */
template <int BLOCKS>
static __device__ __forceinline__ void flush(float (&sum)[2][BLOCKS][4], bool adds, float *tile) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 32 + lane / 4 * 4, col = lane % 4 * 4;
  wait_for_products<0>();
  hold(sum[0]);
  hold(sum[1]);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int m = i / 2, h = i % 2 * 2;
#pragma unroll
    for (int j = 0; j < BLOCKS; j += 2) {
      float *to = tile + (row + i) * 8 * BLOCKS + col + 8 * j;
      const float4 four = make_float4(sum[m][j][h], sum[m][j][h + 1], sum[m][j + 1][h], sum[m][j + 1][h + 1]);
      if (adds)
        add_in_memory(to, four);
      else
        *(float4 *)to = four;
    }
  }
}

/* What a block reads: the rows that are left of its share, from both sides. */
template <class T, class G> struct reading {
  struct side<T, LEFT_COLS> left;
  struct side<T, G::COLS> right;
  int64_t rows;
};

template <class T, class G>
static __device__ __forceinline__ void load_part(const struct sums_product &p, struct reading<T, G> &of,
                                                 uint4 *slot) {
  if (of.rows > 0) {
    const int rows = (int)min(of.rows, (int64_t)G::ROWS);
    load_rows<T, LEFT_COLS, G::ROWS>(of.left, p.left.data, rows, p.aligned, slot);
    load_rows<T, G::COLS, G::ROWS>(of.right, p.right.data, rows, p.aligned, slot + G::ROWS * G::LEFT);
  }
  of.rows -= G::ROWS;
  close_batch();
}

template <class T, class G>
static __device__ __forceinline__ void add_part(const uint4 *slot, const uint4 *cut, int adds,
                                                uint32_t (&a)[2][2][sizeof(T) / 2][4],
                                                float (&sum)[2][G::BLOCKS][4]) {
  const int lane = threadIdx.x % 32, col = threadIdx.x / 32 * 32 + lane / 4 * 4;
  const uint64_t right = right_matrix<G::BLOCKS>(cut);
#pragma unroll
  for (int s = 0; s < G::STEPS; s++) {
    wait_for_products<1>();
    read_left<T>(slot + s * 16 * G::LEFT, col, lane % 4, a[s % 2]);
    multiply_rows<T, G::BLOCKS>(a[s % 2], further(right, s * 16 * G::STEP), s || adds, sum);
  }
}

template <class T, class G>
static __global__ void __launch_bounds__(BLOCK, 1)
    sums_kernel(const __grid_constant__ struct sums_product p) {
  pdl_prologue();
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint4 shared[];
  const int tile = blockIdx.x % p.tiles;
  const int64_t begin = blockIdx.x / p.tiles * p.share, end = min(begin + p.share, p.left.rows);
  float *partial = p.partial + (int64_t)blockIdx.x * LEFT_COLS * G::COLS;
  uint4 *ring = shared + 2 * G::CUT;
  int slot = 0, next = p.stages - 1;
  struct reading<T, G> reading;
  open_side(p.left, begin, (int64_t)(tile / p.right_tiles) * LEFT_COLS, reading.left);
  open_side(p.right, begin, (int64_t)(tile % p.right_tiles) * G::COLS, reading.right);
  reading.rows = end - begin;
  for (int i = 0; i < p.stages - 1; i++) load_part(p, reading, ring + i * G::SLOT);
  for (int64_t first = begin; first < end; first += FLUSH) {
    const int parts = (int)(min(end - first, (int64_t)FLUSH) + G::ROWS - 1) / G::ROWS;
    float sum[2][G::BLOCKS][4];
    uint32_t a[2][2][G::PLANES][4];
    for (int part = 0; part < parts; part++) {
      uint4 *cut = shared + part % 2 * G::CUT;
      const uint4 *from = ring + slot * G::SLOT;
      wait_for_batches(p.stages - 2);
      __syncthreads();
      load_part(p, reading, ring + next * G::SLOT);
      cut_right<T, G>(from + G::ROWS * G::LEFT, cut);
      show_to_products();
      __syncthreads();
      add_part<T, G>(from, cut, part, a, sum);
      if (++slot == p.stages) slot = 0;
      if (++next == p.stages) next = 0;
    }
    flush(sum, first > begin, partial);
  }
#endif
}

#endif
