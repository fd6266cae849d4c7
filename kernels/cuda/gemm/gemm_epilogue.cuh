/* The epilogue of a product: what becomes of a warp's sums, 16 rows of a tile. Forward y from them; backward
 * they are dy, and dz comes of it.
 *
 * Lanes hold four columns of two rows of every pair of blocks, and should go along rows: the sums pass
 * through shared memory in pieces of 64 columns. Of a piece a lane has four columns of every other row. */
#ifndef KERNELS_CUDA_GEMM_GEMM_EPILOGUE_CUH
#define KERNELS_CUDA_GEMM_GEMM_EPILOGUE_CUH

#include "kernels/cuda/gemm/gemm_norm.cuh"
#include "kernels/cuda/gemm/gemm_split.cuh"

constexpr int PIECE = 256; /* 16 bytes of a piece */

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

/* A lane's quads of a piece: columns col, ... (n of four are there) of row v and every other one, as many as
 * lie among the next `rows`. */
struct lane_rows {
  int64_t v;
  int rows, col, n;
};

constexpr int QUADS = 8;

static __device__ __forceinline__ bool has_row(const struct lane_rows &at, int i) {
  return 2 * i < at.rows;
}

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

/* Which columns of quads i and i + 1 dropout keeps: bits 0 to 3 the first's, 4 to 7 the second's. A call of
 * Philox serves eight columns, those of two neighbouring lanes: the even one makes it for the first row, the
 * odd one for the second. */
static __device__ __forceinline__ uint32_t kept_of(const struct gemm_epilogue &e, uint32_t epoch,
                                                   const struct lane_rows &at, int i) {
  const bool odd = at.col & 4;
  const int mine = i + odd;
  const int64_t id = has_row(at, mine) ? e.dropout.id[at.v + 2 * mine] : 0;
  const struct philox_block bits = dropout_bits(e.dropout, epoch, id, at.col / GROUP * GROUP);
  uint32_t kept = 0;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const uint32_t other = __shfl_xor_sync(~0u, odd ? bits.word[half] : bits.word[2 + half], 1);
    const uint32_t word[2] = {odd ? other : bits.word[half], odd ? bits.word[2 + half] : other};
#pragma unroll
    for (int r = 0; r < 2; r++) {
      kept |= (uint32_t)((word[r] & 0xFFFF) >= e.dropout.threshold) << (4 * r + 2 * half);
      kept |= (uint32_t)((word[r] >> 16) >= e.dropout.threshold) << (4 * r + 2 * half + 1);
    }
  }
  return kept;
}

static __device__ __forceinline__ void drop_four(const struct dropout &op, uint32_t kept, float (&x)[4]) {
#pragma unroll
  for (int j = 0; j < 4; j++) x[j] = kept >> j & 1 ? x[j] * op.scale : 0;
}

/* The rows and columns of a tile whose sums a warp holds: `rows` of its 16 are there, and `cols` columns. */
struct warp_tile {
  int64_t v;
  int rows, first_col, cols;
};

/* Odd rows have neighbouring fours of chunks swapped, so that two rows lie in all banks. */
template <int BLOCKS>
static __device__ __forceinline__ void put_piece(const float (&sum)[BLOCKS][4], int piece, int lane,
                                                 float4 *to) {
  const int g = lane / 4;
#pragma unroll
  for (int i = 0; i < (BLOCKS + 7) / 8; i++) {
    if (i != piece) continue;
#pragma unroll
    for (int j = 8 * i; j < 8 * i + 8 && j < BLOCKS; j += 2) {
      float4 *at = to + g * 16 + ((j % 8 * 2 + lane % 4) ^ (g & 1) << 2);
      at[0] = make_float4(sum[j][0], sum[j][1], sum[j + 1][0], sum[j + 1][1]);
      at[8 * 16] = make_float4(sum[j][2], sum[j][3], sum[j + 1][2], sum[j + 1][3]);
    }
  }
}

static __device__ __forceinline__ void take_quad(const float4 *piece, int lane, int i, float (&x)[4]) {
  const int row = lane / 16;
  const float4 four = piece[(row + 2 * i) * 16 + (lane % 16 ^ row << 2)];
  x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
}

/* Quads of a matrix, aligned: whole ones by wide loads and stores, the others by elements. */
template <class T>
static __device__ __forceinline__ void load_quads(const struct tensor &t, const struct lane_rows &at,
                                                  float (&x)[QUADS][4]) {
  const T *from = row_of<T>(t, at.v) + at.col;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i) && at.n == 4) load_four(from + 2 * i * t.stride, 4, x[i]);
  }
  if (at.n == 4 || at.n <= 0) return;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i)) load_four(from + 2 * i * t.stride, at.n, x[i]);
  }
}

template <class T>
static __device__ __forceinline__ void store_quads(const struct tensor &t, const struct lane_rows &at,
                                                   const float (&x)[QUADS][4]) {
  T *to = row_of<T>(t, at.v) + at.col;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i) && at.n == 4) store_four(to + 2 * i * t.stride, 4, x[i]);
  }
  if (at.n == 4 || at.n <= 0) return;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i)) store_four(to + 2 * i * t.stride, at.n, x[i]);
  }
}

/* Factors of a lane's rows. */
static __device__ __forceinline__ void load_scales(const float *scale, const struct lane_rows &at,
                                                   float (&to)[QUADS]) {
#pragma unroll
  for (int i = 0; i < QUADS; i++) to[i] = scale && has_row(at, i) ? scale[at.v + 2 * i] : 1;
}

/* What a forward end raises its elements to at least: without a ReLU to nothing. */
static __device__ __forceinline__ float floor_of(const struct gemm_epilogue &e) {
  return e.activation == ACTIVATION_RELU ? 0 : -INFINITY;
}

/* Without branches but those on dropout: ADD; FORWARD; backward ReLU and its dropout from y. */
template <class T, enum epilogue_kind KIND>
static __device__ __forceinline__ void epilogue_quads(const struct gemm_epilogue &e,
                                                      const struct lane_rows &at, const float (&bias)[4],
                                                      const float4 *piece, int lane, float (&total)[4]) {
  float x[QUADS][4], saved[QUADS][4] = {}, factor[QUADS];
  uint32_t kept[QUADS / 2] = {};
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1, floor = floor_of(e);
  const bool drops = KIND == EPILOGUE_FORWARD && e.dropout.threshold > 0;
  if (KIND == EPILOGUE_BACKWARD_RELU) load_quads<T>(e.saved, at, saved);
  if (KIND == EPILOGUE_ADD) load_quads<T>(e.c, at, saved);
  load_scales(e.scale, at, factor);
  if (drops) {
    const uint32_t epoch = e.scalars->epoch;
#pragma unroll
    for (int i = 0; i < QUADS / 2; i++) kept[i] = kept_of(e, epoch, at, 2 * i);
  }
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    take_quad(piece, lane, i, x[i]);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (KIND == EPILOGUE_BACKWARD_RELU) {
        x[i][j] = saved[i][j] > 0 ? x[i][j] * scale : 0;
        total[j] += x[i][j];
      } else if (KIND == EPILOGUE_ADD) {
        x[i][j] += saved[i][j];
      } else {
        x[i][j] = at_least(x[i][j] + bias[j], floor);
      }
    }
    if (drops) drop_four(e.dropout, kept[i / 2] >> 4 * (i % 2), x[i]);
#pragma unroll
    for (int j = 0; j < 4; j++) x[i][j] *= factor[i];
  }
  store_quads<T>(e.out, at, x);
}

/* Adds the lanes' sums of four columns to the warp's, where these columns are. */
static __device__ __forceinline__ void add_totals(int lane, int n, float (&total)[4], double *totals) {
#pragma unroll
  for (int j = 0; j < 4; j++) {
    total[j] += __shfl_xor_sync(~0u, total[j], 16);
    if (lane < 16 && n > 0) totals[lane * 4 + j] += (double)total[j];
  }
}

template <class T, enum epilogue_kind KIND, int BLOCKS>
static __device__ __forceinline__ void
epilogue_pieces(const struct gemm_epilogue &e, const struct warp_tile &at, const float *bias,
                const float (&sum)[BLOCKS][4], int lane, float4 *piece, double *totals) {
#pragma unroll 1
  for (int i = 0; i < (BLOCKS + 7) / 8; i++) {
    const int col = i * 64 + lane % 16 * 4, n = min(4, at.cols - col);
    const struct lane_rows rows = {at.v + lane / 16, at.rows - lane / 16, at.first_col + col, n};
    float added[4], total[4] = {};
    put_piece(sum, i, lane, piece);
    load(bias + (n > 0 ? col : 0), 4, true, added);
    __syncwarp();
    epilogue_quads<T, KIND>(e, rows, added, piece, lane, total);
    __syncwarp();
    if (KIND == EPILOGUE_BACKWARD_RELU && e.sums) add_totals(lane, n, total, totals + i * 64);
  }
}

/* T: of C. bias, totals: of the tile's columns; piece: the warp's place for one; all in shared memory. */
template <class T, int BLOCKS>
static __device__ __forceinline__ void
epilogue_rows(const struct gemm_epilogue &e, const struct warp_tile &at, const float *bias,
              const float (&sum)[BLOCKS][4], int lane, float4 *piece, double *totals) {
  if (e.kind == EPILOGUE_ADD)
    epilogue_pieces<T, EPILOGUE_ADD>(e, at, bias, sum, lane, piece, totals);
  else if (e.kind == EPILOGUE_BACKWARD_RELU)
    epilogue_pieces<T, EPILOGUE_BACKWARD_RELU>(e, at, bias, sum, lane, piece, totals);
  else
    epilogue_pieces<T, EPILOGUE_FORWARD>(e, at, bias, sum, lane, piece, totals);
}

#endif
