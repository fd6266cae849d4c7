/* The epilogue of a product: what becomes of a warp's sums, 16 rows of a tile. Forward y from them; backward
 * they are dy, and dz comes of it. A lane has, of two rows, four neighbours of each 16 columns: what it reads
 * and writes at once. Where these lie, in shared memory or in a matrix, is the kernel's own. */
#ifndef KERNELS_CUDA_GEMM_GEMM_EPILOGUE_CUH
#define KERNELS_CUDA_GEMM_GEMM_EPILOGUE_CUH

#include "kernels/cuda/gemm/gemm_norm.cuh"
#include "kernels/cuda/gemm/gemm_split.cuh"

/* Epilogues that have code of their own. APART: this one has none, it is a pass of its own. PLAIN: a bias and
 * factors of rows; ADD: C += the product, by "rows" alone; FORWARD: a bias, a ReLU and maybe dropout, by code
 * that serves PLAIN as well; the last three, of batch norms, by bulk copies alone. */
enum epilogue_kind {
  EPILOGUE_APART,
  EPILOGUE_PLAIN,
  EPILOGUE_ADD,
  EPILOGUE_FORWARD,
  EPILOGUE_BACKWARD_RELU,
  EPILOGUE_MOMENTS,
  EPILOGUE_NORM_SUMS,
  EPILOGUE_NORM_APPLY
};

/* Whether kernels by bulk copies have code for it. */
static constexpr __host__ __device__ bool is_of_tma(enum epilogue_kind kind) {
  return kind != EPILOGUE_APART && kind != EPILOGUE_ADD;
}

static constexpr __host__ __device__ bool is_of_norm(enum epilogue_kind kind) {
  return kind == EPILOGUE_NORM_SUMS || kind == EPILOGUE_NORM_APPLY;
}

static constexpr __host__ __device__ bool is_of_batch_norm(enum epilogue_kind kind) {
  return is_of_norm(kind) || kind == EPILOGUE_MOMENTS;
}

static constexpr __host__ __device__ bool is_backward(enum epilogue_kind kind) {
  return kind == EPILOGUE_BACKWARD_RELU || is_of_norm(kind);
}

/* Sums of each column that there may be. */
static constexpr __host__ __device__ int sums_of(enum epilogue_kind kind) {
  return kind == EPILOGUE_MOMENTS || kind == EPILOGUE_NORM_SUMS ? 2 : kind == EPILOGUE_BACKWARD_RELU;
}

/* Reals of each column that a block keeps: bias, or for moments the first row, or what a norm has. */
static constexpr __host__ __device__ int reals_of(enum epilogue_kind kind) {
  return kind == EPILOGUE_NORM_APPLY ? (int)NORM_REALS : kind == EPILOGUE_NORM_SUMS ? NORM_SUM_REALS : 1;
}

struct gemm_epilogue {
  enum epilogue_kind kind;
  struct tensor c;     /* the product's, of out's type; these three are aligned unless the kind is APART */
  struct tensor out;   /* y or dz */
  struct tensor saved; /* backward: y, of a batch norm z, as the forward pass left it */
  bool backward;
  bool sums_alone;   /* nothing is written */
  const float *bias; /* forward; of moments: what is near the mean */
  struct norm_epilogue norm;
  enum activation activation;
  struct dropout dropout;
  const float *scale; /* [rows]; NULL: 1 */
  const struct scalars *scalars;
  double *sums; /* [blocks, sums_of(kind), cols] backward: of dz or dn; of moments; NULL: not wanted */
};

/* n of four neighbours, all of them 16 bytes or 8 at a time. */
static __device__ __forceinline__ void load_four(const float *from, int n, float (&x)[4]) {
  load(from, n, n == 4, x);
}

static __device__ __forceinline__ void store_four(float *to, int n, const float (&x)[4]) {
  store(to, n, n == 4, x);
}

static __device__ __forceinline__ void load_four(const bf16 *from, int n, float (&x)[4]) {
  if (n < 4) return load(from, n, false, x);
  const uint2 four = *(const uint2 *)from;
  x[0] = __uint_as_float(four.x << 16), x[1] = __uint_as_float(four.x & 0xFFFF0000u);
  x[2] = __uint_as_float(four.y << 16), x[3] = __uint_as_float(four.y & 0xFFFF0000u);
}

static __device__ __forceinline__ void store_four(bf16 *to, int n, const float (&x)[4]) {
  if (n < 4) return store(to, n, false, x);
  *(uint2 *)to = make_uint2(rounded_pair(x[0], x[1]), rounded_pair(x[2], x[3]));
}

/* What a forward end raises its elements to at least: without a ReLU to nothing. */
static __device__ __forceinline__ float floor_of(const struct gemm_epilogue &e) {
  return e.activation == ACTIVATION_RELU ? 0 : -INFINITY;
}

/* Rows of lanes 4 g + q in a warp's 16: g with its bits reversed, so that lanes which read together, 16 bytes
 * of A or four neighbours of C, do so from all banks of a box. */
static __device__ __forceinline__ int row_of_lane(int lane) {
  const int g = lane / 4;
  return g % 2 * 4 + g / 2 % 2 * 2 + g / 4;
}

/* Lane 4 g + q has sums of rows v and v + 8, as far as these are there. */
struct lane_place {
  int64_t v;
  int g, q;
  bool is_there[2];
  float factor[2];
  int64_t id[2];
};

static __device__ __forceinline__ bool drops_forward(const struct gemm_epilogue &e) {
  return e.kind == EPILOGUE_FORWARD && e.dropout.threshold > 0;
}

/* In the tile of so many rows that begins at `first`; row: the lane's first. */
static __device__ __forceinline__ struct lane_place
place_of_lane(const struct gemm_epilogue &e, int64_t first, int rows, int row, int lane) {
  struct lane_place at = {first + row, lane / 4, lane % 4};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int64_t v = at.v + 8 * i;
    at.is_there[i] = row + 8 * i < rows;
    at.factor[i] = e.scale && at.is_there[i] ? e.scale[v] : 1;
    at.id[i] = drops_forward(e) && at.is_there[i] ? e.dropout.id[v] : 0;
  }
  return at;
}

static __device__ __forceinline__ int sums_wanted(const struct gemm_epilogue &e) {
  return e.sums ? sums_of(e.kind) : 0;
}

/* What a block keeps of column `col`, in place `at` of [reals, cols]. */
static __device__ __forceinline__ void put_reals(const struct gemm_epilogue &e, int col, bool is_there,
                                                 int cols, int at, float *reals) {
  if (is_of_norm(e.kind))
    put_norm(e.norm, col, is_there, cols, at, reals);
  else
    reals[at] = e.bias && is_there ? e.bias[col] : 0;
}

/* Which columns dropout keeps, of a row's block: one bit a column. */
static __device__ __forceinline__ uint32_t kept_of_block(const struct dropout &op, uint32_t epoch, int64_t id,
                                                         int block) {
  const struct philox_block bits = dropout_bits(op, epoch, id, block * GROUP);
  uint32_t kept = 0;
#pragma unroll
  for (int j = 0; j < GROUP; j++) kept |= (uint32_t)is_kept(op, bits, j) << j;
  return kept;
}

/* COUNT sums of each of eight kinds in every lane: those of kind g, added over the lanes 4 h + q for all h,
 * end in column[0] of lane 4 g + q. */
template <int COUNT> static __device__ __forceinline__ void fold_columns(int g, float (&column)[8][COUNT]) {
#pragma unroll
  for (int half = 4; half > 0; half /= 2) {
    const bool upper = g & half;
#pragma unroll
    for (int j = 0; j < half; j++) {
#pragma unroll
      for (int c = 0; c < COUNT; c++) {
        const float keep = upper ? column[j + half][c] : column[j][c];
        column[j][c] = keep + __shfl_xor_sync(~0u, upper ? column[j][c] : column[j + half][c], 4 * half);
      }
    }
  }
}

/* The epilogue of four neighbours in a row. x: the product, becomes what column sums are of. */
template <enum epilogue_kind KIND>
static __device__ __forceinline__ void epilogue_four(const struct gemm_epilogue &e, const float (&bias)[4],
                                                     const float (&before)[4], uint32_t kept, float (&x)[4]) {
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1, floor = floor_of(e);
  const bool drops = KIND == EPILOGUE_FORWARD && drops_forward(e);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (KIND == EPILOGUE_BACKWARD_RELU) {
      x[j] = before[j] > 0 ? x[j] * scale : 0;
    } else if (KIND == EPILOGUE_ADD) {
      x[j] += before[j];
    } else {
      x[j] += bias[j];
      if (KIND == EPILOGUE_FORWARD) x[j] = at_least(x[j], floor);
      if (drops) x[j] = kept >> j & 1 ? x[j] * scale : 0;
    }
  }
}

/* Of the eight columns of block `first` + q lane 4 g + q asks which are kept: bits 0 to 7 in its first row, 8
 * to 15 in its second. */
static __device__ __forceinline__ uint32_t kept_of_lane(const struct gemm_epilogue &e, uint32_t epoch,
                                                        const struct lane_place &at, int first) {
  return kept_of_block(e.dropout, epoch, at.id[0], first + at.q) |
         kept_of_block(e.dropout, epoch, at.id[1], first + at.q) << 8;
}

/* Sums of 32 columns, of a lane's rows, added over the warp's to its totals. */
static __device__ __forceinline__ void add_part_columns(const struct lane_place &at, float (&column)[8][1],
                                                        double *totals) {
  fold_columns(at.g, column);
  totals[at.g / 4 * 16 + 4 * at.q + at.g % 4] += (double)column[0][0];
}

/* What four columns add to their sums, from a row that is there. */
template <enum epilogue_kind KIND>
static __device__ __forceinline__ void add_to_sums(const float (&x)[4], const float (&other)[4],
                                                   float (&sums)[2][4]) {
#pragma unroll
  for (int c = 0; c < 4; c++) {
    sums[0][c] += KIND == EPILOGUE_MOMENTS ? other[c] : x[c];
    if (KIND == EPILOGUE_MOMENTS) sums[1][c] += other[c] * other[c];
    if (KIND == EPILOGUE_NORM_SUMS) sums[1][c] += x[c] * other[c];
  }
}

/* As T holds them. */
static __device__ __forceinline__ void round_four(float (&)[4], float) {}

static __device__ __forceinline__ void round_four(float (&x)[4], bf16) {
  const uint32_t low = rounded_pair(x[0], x[1]), high = rounded_pair(x[2], x[3]);
  x[0] = low_half(low), x[1] = high_half(low), x[2] = low_half(high), x[3] = high_half(high);
}

/* Column sums from totals [warps, cols] in shared memory, of which n are wanted, by so many threads. */
static __device__ __forceinline__ void write_column_sums(const double *totals, int warps, int cols, int n,
                                                         int threads, double *sums) {
  for (int j = threadIdx.x; j < n; j += threads) {
    double sum = 0;
    for (int w = 0; w < warps; w++) sum += totals[w * cols + j];
    sums[j] = sum;
  }
}

/* The same from totals [2, warps, cols]: each half of the columns has warps of its own. */
static __device__ __forceinline__ void write_half_sums(const double *totals, int warps, int cols, int n,
                                                       int threads, double *sums) {
  for (int j = threadIdx.x; j < n; j += threads) {
    double sum = 0;
    for (int w = 0; w < warps; w++) sum += totals[(j / cols * warps + w) * cols + j % cols];
    sums[j] = sum;
  }
}

/* The epilogue of columns [32 PART, 32 PART + 32) of a tile that begins at first_col. matrix: reads what a
 * lane's four neighbours number i (of two) were before, and writes what they become; its T is the elements'
 * type. reals: [reals, cols] of the tile's columns. totals: the warp's, of these columns; those of the next
 * sum are `pitch` further on. KEEPS: what leaves takes the sums' place. */
template <enum epilogue_kind KIND, bool KEEPS, class M, int BLOCKS>
static __device__ __forceinline__ void epilogue_part(const struct gemm_epilogue &e,
                                                     const struct lane_place &at, int part, int first_col,
                                                     const float *reals, int cols, const M &matrix,
                                                     float (&sum)[BLOCKS][4], double *totals, int pitch) {
  constexpr bool READS = is_backward(KIND) || KIND == EPILOGUE_ADD;
  const bool drops = KIND == EPILOGUE_FORWARD && drops_forward(e);
  const uint32_t kept = drops ? kept_of_lane(e, e.scalars->epoch, at, first_col / GROUP + 4 * part) : 0;
  float column[2][8][1] = {};
#pragma unroll
  for (int i = 0; i < 2 && 4 * part + 2 * i < BLOCKS; i++) {
    float(&left)[4] = sum[4 * part + 2 * i], (&right)[4] = sum[4 * part + 2 * i + 1];
    const int col = 32 * part + 16 * i + 4 * at.q;
    const uint32_t mine = drops ? __shfl_sync(~0u, kept, 4 * at.g + 2 * i + at.q / 2) >> at.q % 2 * 4 : 0;
    struct norm_columns_of<4> norm;
    float bias[4] = {}, sums[2][4] = {};
    if (!READS) load_four(reals + col, 4, bias);
    if constexpr (is_of_norm(KIND)) take_norm<4, KIND == EPILOGUE_NORM_APPLY>(reals, cols, col, norm);
#pragma unroll
    for (int r = 0; r < 2; r++) {
      float x[4] = {left[2 * r], left[2 * r + 1], right[2 * r], right[2 * r + 1]}, other[4], before[4] = {};
      if (READS) matrix.read(at, i, r, before);
      if constexpr (KIND == EPILOGUE_MOMENTS) {
        round_four(x, typename M::T());
#pragma unroll
        for (int c = 0; c < 4; c++) other[c] = x[c] - bias[c];
      } else if constexpr (is_of_norm(KIND)) {
        norm_backward<4, KIND == EPILOGUE_NORM_APPLY>(norm, before, x, other);
      } else {
        epilogue_four<KIND>(e, bias, before, mine >> 8 * r, x);
      }
      if (sums_of(KIND) > 0 && at.is_there[r]) add_to_sums<KIND>(x, other, sums);
#pragma unroll
      for (int c = 0; c < 4 && !is_of_batch_norm(KIND); c++) x[c] *= at.factor[r];
      if constexpr (KEEPS)
        left[2 * r] = x[0], left[2 * r + 1] = x[1], right[2 * r] = x[2], right[2 * r + 1] = x[3];
      if (!(KIND == EPILOGUE_NORM_SUMS && e.sums_alone)) matrix.write(at, i, r, x);
    }
#pragma unroll
    for (int c = 0; c < 4; c++) column[0][4 * i + c][0] = sums[0][c], column[1][4 * i + c][0] = sums[1][c];
  }
  if (!e.sums) return;
#pragma unroll
  for (int s = 0; s < sums_of(KIND); s++) add_part_columns(at, column[s], totals + s * pitch);
}

#endif
