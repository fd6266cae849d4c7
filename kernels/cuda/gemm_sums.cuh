/* C = A^T B for tall A [rows, m] and B [rows, n], gradients of weights: the kernel.
 *
 * A block has a tile of C, 256 columns of one matrix ("left") by up to 128 of the other ("right"), and a
 * share of the rows, which stream through shared memory in parts of 32. It leaves its tile of floats in the
 * workspace; add_tiles sums these in order. The sum's terms and the tile's rows and columns may be permuted
 * alike on both sides: a lane reads neighbouring columns of the rows q, q + 4, q + 8, q + 12 at once. */
#ifndef KERNELS_CUDA_GEMM_SUMS_CUH
#define KERNELS_CUDA_GEMM_SUMS_CUH

#include "kernels/cuda/gemm_pieces.cuh"

constexpr int PART_ROWS = 32, LEFT_COLS = 256;

struct sums_product {
  struct tensor left, right;
  int64_t share; /* rows of a block */
  int right_tiles, tiles, stages;
  bool aligned;
  float *partial; /* [shares, tiles, LEFT_COLS, right columns of a tile] */
};

/* Eight warps, M by N; each sums 16 HIGH columns of the left by 8 WIDE of the right. */
template <int HIGH_, int WIDE_, int M_> struct tiling {
  static constexpr int HIGH = HIGH_, WIDE = WIDE_, M = M_, N = 8 / M_;
  static constexpr int RIGHT_COLS = 8 * WIDE * N;
};

/* Chunks from one row to the next of COLS columns in shared memory: two chunks of four rows in a sequence
 * then lie in all banks. */
template <class T, int COLS> constexpr int PITCH = (COLS / CHUNK<T> + 5) / 8 * 8 + 2;

/* Columns [first, first + COLS) of 32 rows. */
template <class T, int COLS>
static __device__ __forceinline__ void load_columns(const struct tensor &t, int64_t row, int64_t end,
                                                    int64_t first, bool aligned, uint4 *to) {
  constexpr int ACROSS = COLS / CHUNK<T>;
#pragma unroll
  for (int i = 0; i < (PART_ROWS * ACROSS + BLOCK - 1) / BLOCK; i++) {
    const int at = i * BLOCK + threadIdx.x, r = at / ACROSS, chunk = at % ACROSS;
    if (r >= PART_ROWS) break;
    const int64_t col = first + chunk * CHUNK<T>;
    const int count = row + r < end ? count_before<T>(col, t.cols) : 0;
    const T *from = (const T *)t.data + (count > 0 ? (row + r) * t.stride + col : 0);
    copy_chunk(to + r * PITCH<T, COLS> + chunk, from, count, aligned);
  }
}

/* One column's 16 terms as a lane holds its quarter: planes hi and mid for floats, by pairs of rows. */
template <class T> struct terms { uint32_t word[sizeof(T) / 2][2]; };

static __device__ __forceinline__ void pack_terms(const float (&x)[4], struct terms<float> &to) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const struct pieces pair = split(x[2 * i], x[2 * i + 1]);
    to.word[0][i] = pair.hi;
    to.word[1][i] = pair.mid;
  }
}

static __device__ __forceinline__ void pack_terms(const uint16_t (&x)[4], struct terms<bf16> &to) {
#pragma unroll
  for (int i = 0; i < 2; i++) to.word[0][i] = (uint32_t)x[2 * i] | (uint32_t)x[2 * i + 1] << 16;
}

/* Terms of COUNT neighbouring columns from `col` on, 16 rows from `rows` on. */
template <class T, int COUNT, int COLS>
static __device__ __forceinline__ void read_terms(const uint4 *rows, int col, int q,
                                                  struct terms<T> (&to)[COUNT]) {
  using plain = typename std::conditional<sizeof(T) == 4, float, uint16_t>::type;
  struct alignas(COUNT * sizeof(T)) vector {
    plain x[COUNT];
  } row[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    row[i] = *(const vector *)((const T *)(rows + (q + 4 * i) * PITCH<T, COLS>)+col);
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    const plain x[4] = {row[0].x[j], row[1].x[j], row[2].x[j], row[3].x[j]};
    pack_terms(x, to[j]);
  }
}

/* 16 columns of the left: c and c + 1 are rows g and g + 8. */
template <class T>
static __device__ __forceinline__ void left_of(const struct terms<T> &x, const struct terms<T> &y, int plane,
                                               uint32_t (&a)[4]) {
  a[0] = x.word[plane][0], a[1] = y.word[plane][0], a[2] = x.word[plane][1], a[3] = y.word[plane][1];
}

/* Four chains of products: of the warp's rows i and blocks j of columns, each step of which follows those of
 * the others. c: the first chain; chain n is of i = n % HIGH and j = n / HIGH. */
template <class T, int HIGH>
static __device__ __forceinline__ void add_terms(const struct terms<T> (&a)[HIGH / 2][4],
                                                 const struct terms<T> (&b)[2], int c,
                                                 float (&first)[HIGH][4], float (&second)[HIGH][4]) {
  uint32_t hi[4][4];
#pragma unroll
  for (int n = 0; n < 4; n++) {
    const int i = (c + n) % HIGH;
    left_of(a[i / 2][i % 2 * 2], a[i / 2][i % 2 * 2 + 1], 0, hi[n]);
  }
  if constexpr (sizeof(T) == 4) {
    float part[4][4];
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int i = (c + n) % HIGH, j = (c + n) / HIGH;
      uint32_t mid[4];
      left_of(a[i / 2][i % 2 * 2], a[i / 2][i % 2 * 2 + 1], 1, mid);
      set_product(part[n], mid, b[j].word[0][0], b[j].word[0][1]);
    }
#pragma unroll
    for (int n = 0; n < 8; n++) {
      const int j = (c + n % 4) / HIGH, plane = n < 4;
      add_product(part[n % 4], hi[n % 4], b[j].word[plane][0], b[j].word[plane][1]);
    }
#pragma unroll
    for (int n = 0; n < 16; n++) {
      const int i = (c + n / 4) % HIGH;
      ((c + n / 4) / HIGH ? second : first)[i][n % 4] += part[n / 4][n % 4];
    }
  } else {
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int i = (c + n) % HIGH, j = (c + n) / HIGH;
      add_product((j ? second : first)[i], hi[n], b[j].word[0][0], b[j].word[0][1]);
    }
  }
}

/* The warp's tile += 16 rows' products. left_col, right_col: the lane's first columns. */
template <class T, class G>
static __device__ __forceinline__ void add_rows(const uint4 *left, const uint4 *right, int left_col,
                                                int right_col, int q, float (&sum)[G::WIDE][G::HIGH][4]) {
  struct terms<T> a[G::HIGH / 2][4];
#pragma unroll
  for (int i = 0; i < G::HIGH / 2; i++) read_terms<T, 4, LEFT_COLS>(left, left_col + 32 * i, q, a[i]);
#pragma unroll
  for (int j = 0; j < G::WIDE; j += 2) {
    struct terms<T> b[2];
    read_terms<T, 2, G::RIGHT_COLS>(right, right_col + 8 * j, q, b);
#pragma unroll
    for (int c = 0; c < 2 * G::HIGH; c += 4) add_terms<T, G::HIGH>(a, b, c, sum[j], sum[j + 1]);
  }
}

/* Lane 4 g + q holds left columns 32 (i / 2) + 4 g + 2 (i % 2) + h and right columns 8 j + 4 q .. + 3 of the
 * warp's, j even. */
template <class G>
static __device__ __forceinline__ void write_tile(const float (&sum)[G::WIDE][G::HIGH][4], int left_col,
                                                  int right_col, float *tile) {
#pragma unroll
  for (int i = 0; i < G::HIGH; i++) {
#pragma unroll
    for (int j = 0; j < G::WIDE; j += 2) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int row = left_col + 32 * (i / 2) + 2 * (i % 2) + h, col = right_col + 8 * j;
        *(float4 *)(tile + row * G::RIGHT_COLS + col) = make_float4(
            sum[j][i][2 * h], sum[j + 1][i][2 * h], sum[j][i][2 * h + 1], sum[j + 1][i][2 * h + 1]);
      }
    }
  }
}

template <class T, class G>
static __global__ void __launch_bounds__(BLOCK, 1)
    sums_kernel(const __grid_constant__ struct sums_product p) {
  extern __shared__ uint4 shared[];
  constexpr int LEFT = PITCH<T, LEFT_COLS>, RIGHT = PITCH<T, G::RIGHT_COLS>,
                SLOT = PART_ROWS * (LEFT + RIGHT);
  const int tile = blockIdx.x % p.tiles, lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4,
            q = lane % 4;
  const int64_t begin = blockIdx.x / p.tiles * p.share, end = min(begin + p.share, p.left.rows);
  const int64_t first_left = (int64_t)(tile / p.right_tiles) * LEFT_COLS;
  const int64_t first_right = (int64_t)(tile % p.right_tiles) * G::RIGHT_COLS;
  const int left_col = warp % G::M * 16 * G::HIGH, right_col = warp / G::M * 8 * G::WIDE;
  float sum[G::WIDE][G::HIGH][4] = {};
  int64_t ahead = begin;
  int slot = 0, next = 0;
  const auto load_next = [&]() {
    if (ahead < end) {
      load_columns<T, LEFT_COLS>(p.left, ahead, end, first_left, p.aligned, shared + next * SLOT);
      load_columns<T, G::RIGHT_COLS>(p.right, ahead, end, first_right, p.aligned,
                                     shared + next * SLOT + PART_ROWS * LEFT);
    }
    close_batch();
    ahead += PART_ROWS;
    if (++next == p.stages) next = 0;
  };
  for (int i = 0; i < p.stages - 1; i++) load_next();
  for (int64_t row = begin; row < end; row += PART_ROWS) {
    wait_for_batches(p.stages - 2);
    __syncthreads();
    load_next();
    const uint4 *left = shared + slot * SLOT, *right = left + PART_ROWS * LEFT;
#pragma unroll 1
    for (int r = 0; r < PART_ROWS; r += 16)
      add_rows<T, G>(left + r * LEFT, right + r * RIGHT, left_col + 4 * g, right_col + 2 * g, q, sum);
    if (++slot == p.stages) slot = 0;
  }
  write_tile<G>(sum, left_col + 4 * g, right_col + 4 * q,
                p.partial + (int64_t)blockIdx.x * LEFT_COLS * G::RIGHT_COLS);
}

#endif
