/* The end of a product: what becomes of a warp's sums, 16 rows of a tile. Forward: C += product, then update;
 * backward: dy = C + product, then dz from it.
 *
 * Lanes hold four columns of two rows of every pair of blocks, and should go along rows: the sums pass
 * through shared memory in pieces of 64 columns. Of a piece a lane has four columns of every other row. */
#ifndef KERNELS_CUDA_GEMM_GEMM_END_CUH
#define KERNELS_CUDA_GEMM_GEMM_END_CUH

#include "kernels/cuda/gemm/gemm_norm.cuh"
#include "kernels/cuda/gemm/gemm_pieces.cuh"

constexpr int PIECE = 256; /* 16 bytes of a piece */

/* The ends that have code of their own. PLAIN: a bias and factors of rows; FORWARD: a bias, a ReLU and maybe
 * dropout, by code that serves PLAIN as well; the last three, of batch norms, by bulk copies alone. */
enum end_kind {
  END_ANY,
  END_PLAIN,
  END_FORWARD,
  END_BACKWARD_RELU,
  END_MOMENTS,
  END_NORM_SUMS,
  END_NORM_APPLY
};

static constexpr __host__ __device__ bool is_of_norm(enum end_kind kind) {
  return kind == END_NORM_SUMS || kind == END_NORM_APPLY;
}

static constexpr __host__ __device__ bool is_of_batch_norm(enum end_kind kind) {
  return is_of_norm(kind) || kind == END_MOMENTS;
}

static constexpr __host__ __device__ bool is_backward(enum end_kind kind) {
  return kind == END_BACKWARD_RELU || is_of_norm(kind);
}

/* Sums of each column that there may be. */
static constexpr __host__ __device__ int sums_of(enum end_kind kind) {
  return kind == END_MOMENTS || kind == END_NORM_SUMS ? 2 : kind == END_BACKWARD_RELU;
}

/* Reals of each column that a block keeps: bias, or for moments the first row, or what a norm has. */
static constexpr __host__ __device__ int reals_of(enum end_kind kind) {
  return kind == END_NORM_APPLY ? (int)NORM_REALS : kind == END_NORM_SUMS ? NORM_SUM_REALS : 1;
}

struct end {
  enum end_kind kind;
  struct tensor c;                /* what accumulate adds to; holds the bare product afterwards if `keep` */
  struct tensor out;              /* y or dz */
  struct tensor residual;         /* forward: added; backward: receives dropout'(dy) */
  struct tensor saved;            /* backward: y, or z, as the forward pass left it */
  bool accumulate, keep, aligned; /* aligned: all of these */
  bool backward, from_y;          /* from_y: saved is y */
  bool sums_alone;                /* nothing is written */
  const float *bias;              /* forward, and backward from z; of moments: what is near the mean */
  struct norm_end norm;
  enum activation activation;
  struct dropout dropout;
  const float *scale; /* [rows]; NULL: 1 */
  const struct scalars *scalars;
  double *sums; /* [blocks, sums_of(kind), cols] backward: of dz or dn; of moments; NULL: not wanted */
};

/* Four columns of row v, the first n of which are there: none when the row is not. */
struct quad {
  int64_t v;
  int col, n;
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

static __device__ __forceinline__ struct quad quad_of(const struct lane_rows &at, int i) {
  return {at.v + 2 * i, at.col, has_row(at, i) ? at.n : 0};
}

static __device__ __forceinline__ void load_four(const float *from, int n, bool aligned, float (&x)[4]) {
  load(from, n, aligned, x);
}

static __device__ __forceinline__ void store_four(float *to, int n, bool aligned, const float (&x)[4]) {
  store(to, n, aligned, x);
}

static __device__ __forceinline__ void load_four(const bf16 *from, int n, bool aligned, float (&x)[4]) {
  if (!aligned || n < 4) {
    load(from, n, false, x);
    return;
  }
  const uint2 four = *(const uint2 *)from;
  x[0] = __uint_as_float(four.x << 16), x[1] = __uint_as_float(four.x & 0xFFFF0000u);
  x[2] = __uint_as_float(four.y << 16), x[3] = __uint_as_float(four.y & 0xFFFF0000u);
}

static __device__ __forceinline__ void store_four(bf16 *to, int n, bool aligned, const float (&x)[4]) {
  if (aligned && n >= 4)
    *(uint2 *)to = make_uint2(rounded_pair(x[0], x[1]), rounded_pair(x[2], x[3]));
  else
    store(to, n, false, x);
}

template <class T>
static __device__ __forceinline__ void load_quad(const struct tensor &t, const struct quad &at, bool aligned,
                                                 float (&x)[4]) {
  load_four(row_of<T>(t, at.v) + at.col, at.n, aligned, x);
}

template <class T>
static __device__ __forceinline__ void store_quad(const struct tensor &t, const struct quad &at, bool aligned,
                                                  const float (&x)[4]) {
  store_four(row_of<T>(t, at.v) + at.col, at.n, aligned, x);
}

/* Which columns of quads i and i + 1 dropout keeps: bits 0 to 3 the first's, 4 to 7 the second's. A call of
 * Philox serves eight columns, those of two neighbouring lanes: the even one makes it for the first row, the
 * odd one for the second. */
static __device__ __forceinline__ uint32_t kept_of(const struct end &e, uint32_t epoch,
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

/* Whether dropout draws: backward after a ReLU whose output was kept, a dropped element reads as 0. */
static __device__ __forceinline__ bool needs_mask(const struct end &e) {
  return e.dropout.threshold > 0 && !(e.backward && e.from_y && e.activation == ACTIVATION_RELU);
}

static __device__ __forceinline__ void add_four(const float (&x)[4], float (&to)[4]) {
#pragma unroll
  for (int j = 0; j < 4; j++) to[j] += x[j];
}

/* What leaves a quad: column sums are of x as it is. */
template <class T>
static __device__ __forceinline__ void store_scaled(const struct end &e, const struct quad &at,
                                                    const float (&x)[4]) {
  const float scale = e.scale ? e.scale[at.v] : 1;
  const float scaled[4] = {x[0] * scale, x[1] * scale, x[2] * scale, x[3] * scale};
  store_quad<T>(e.out, at, e.aligned, scaled);
}

/* x: the product. bias: of the quad's columns. kept: its bits of dropout. */
template <class T>
static __device__ __forceinline__ void end_forward(const struct end &e, const struct quad &at,
                                                   const float (&bias)[4], uint32_t kept, float (&x)[4]) {
  float other[4];
  if (e.accumulate) {
    load_quad<T>(e.c, at, e.aligned, other);
    add_four(other, x);
  }
  if (e.keep) store_quad<T>(e.c, at, e.aligned, x);
#pragma unroll
  for (int j = 0; j < 4; j++) x[j] = activated(e.activation, x[j] + bias[j]);
  if (e.residual.data) {
    load_quad<T>(e.residual, at, e.aligned, other);
    add_four(other, x);
  }
  if (e.dropout.threshold > 0) drop_four(e.dropout, kept, x);
  store_scaled<T>(e, at, x);
}

/* d act'(n), from n or from y = act(n) times the dropout's scale: y has n's sign, and for ELU exp(n) =
 * act(n) + 1. Where y was dropped the gradient is 0 already. */
static __device__ __forceinline__ float sloped(const struct end &e, float n, float d) {
  if (n > 0 || e.activation == ACTIVATION_NONE) return d;
  if (e.activation == ACTIVATION_RELU) return 0;
  if (e.activation != ACTIVATION_ELU) return d * LEAKY_SLOPE;
  return d * (e.from_y ? n * (e.dropout.threshold > 0 ? 1 / e.dropout.scale : 1) + 1 : expf(n));
}

/* d: the product, becomes dz. */
template <class T>
static __device__ __forceinline__ void end_backward(const struct end &e, const struct quad &at,
                                                    const float (&bias)[4], uint32_t kept, float (&d)[4]) {
  float n[4] = {};
  if (e.activation != ACTIVATION_NONE) load_quad<T>(e.saved, at, e.aligned, n);
  if (e.accumulate) {
    float other[4];
    load_quad<T>(e.c, at, e.aligned, other);
    add_four(other, d);
  }
  if (needs_mask(e)) {
    drop_four(e.dropout, kept, d);
  } else if (e.dropout.threshold > 0) {
#pragma unroll
    for (int j = 0; j < 4; j++) d[j] *= e.dropout.scale;
  }
  if (e.residual.data) store_quad<T>(e.residual, at, e.aligned, d);
#pragma unroll
  for (int j = 0; j < 4; j++) d[j] = sloped(e, n[j] + bias[j], d[j]);
  store_scaled<T>(e, at, d);
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

/* Any end of a lane's quads; total += their columns' sums. */
template <class T>
static __device__ __forceinline__ void end_any(const struct end &e, const struct lane_rows &at,
                                               const float (&bias)[4], const float4 *piece, int lane,
                                               float (&total)[4]) {
  uint32_t kept = 0;
#pragma unroll 2
  for (int i = 0; i < QUADS; i++) {
    const struct quad quad = quad_of(at, i);
    float x[4];
    if (needs_mask(e)) kept = i % 2 ? kept >> 4 : kept_of(e, e.scalars->epoch, at, i);
    take_quad(piece, lane, i, x);
    if (quad.n <= 0) continue;
    if (e.backward)
      end_backward<T>(e, quad, bias, kept, x);
    else
      end_forward<T>(e, quad, bias, kept, x);
    add_four(x, total);
  }
}

/* Quads of a matrix, aligned: whole ones by wide loads and stores, the others by elements. */
template <class T>
static __device__ __forceinline__ void load_quads(const struct tensor &t, const struct lane_rows &at,
                                                  float (&x)[QUADS][4]) {
  const T *from = row_of<T>(t, at.v) + at.col;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i) && at.n == 4) load_four(from + 2 * i * t.stride, 4, true, x[i]);
  }
  if (at.n == 4 || at.n <= 0) return;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i)) load_four(from + 2 * i * t.stride, at.n, false, x[i]);
  }
}

template <class T>
static __device__ __forceinline__ void store_quads(const struct tensor &t, const struct lane_rows &at,
                                                   const float (&x)[QUADS][4]) {
  T *to = row_of<T>(t, at.v) + at.col;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i) && at.n == 4) store_four(to + 2 * i * t.stride, 4, true, x[i]);
  }
  if (at.n == 4 || at.n <= 0) return;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    if (has_row(at, i)) store_four(to + 2 * i * t.stride, at.n, false, x[i]);
  }
}

/* Factors of a lane's rows. */
static __device__ __forceinline__ void load_scales(const float *scale, const struct lane_rows &at,
                                                   float (&to)[QUADS]) {
#pragma unroll
  for (int i = 0; i < QUADS; i++) to[i] = scale && has_row(at, i) ? scale[at.v + 2 * i] : 1;
}

/* What a forward end raises its elements to at least: without a ReLU to nothing. */
static __device__ __forceinline__ float floor_of(const struct end &e) {
  return e.activation == ACTIVATION_RELU ? 0 : -INFINITY;
}

/* The usual ends, with no branches but those on dropout: FORWARD; backward ReLU and its dropout from y. */
template <class T, enum end_kind KIND>
static __device__ __forceinline__ void end_usual(const struct end &e, const struct lane_rows &at,
                                                 const float (&bias)[4], const float4 *piece, int lane,
                                                 float (&total)[4]) {
  float x[QUADS][4], saved[QUADS][4] = {}, factor[QUADS];
  uint32_t kept[QUADS / 2] = {};
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1, floor = floor_of(e);
  const bool drops = KIND == END_FORWARD && e.dropout.threshold > 0;
  if (KIND == END_BACKWARD_RELU) load_quads<T>(e.saved, at, saved);
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
      if (KIND == END_BACKWARD_RELU) {
        x[i][j] = saved[i][j] > 0 ? x[i][j] * scale : 0;
        total[j] += x[i][j];
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

template <class T, enum end_kind KIND, int BLOCKS>
static __device__ __forceinline__ void end_pieces(const struct end &e, const struct warp_tile &at,
                                                  const float *bias, const float (&sum)[BLOCKS][4], int lane,
                                                  float4 *piece, double *totals) {
#pragma unroll 1
  for (int i = 0; i < (BLOCKS + 7) / 8; i++) {
    const int col = i * 64 + lane % 16 * 4, n = min(4, at.cols - col);
    const struct lane_rows rows = {at.v + lane / 16, at.rows - lane / 16, at.first_col + col, n};
    float added[4], total[4] = {};
    put_piece(sum, i, lane, piece);
    load(bias + (n > 0 ? col : 0), 4, true, added);
    __syncwarp();
    if constexpr (KIND == END_ANY)
      end_any<T>(e, rows, added, piece, lane, total);
    else
      end_usual<T, KIND>(e, rows, added, piece, lane, total);
    __syncwarp();
    if ((KIND == END_ANY || KIND == END_BACKWARD_RELU) && e.sums) add_totals(lane, n, total, totals + i * 64);
  }
}

/* T: of C. bias, totals: of the tile's columns; piece: the warp's place for one; all in shared memory. */
template <class T, int BLOCKS>
static __device__ __forceinline__ void end_rows(const struct end &e, const struct warp_tile &at,
                                                const float *bias, const float (&sum)[BLOCKS][4], int lane,
                                                float4 *piece, double *totals) {
  if (e.kind == END_PLAIN || e.kind == END_FORWARD)
    end_pieces<T, END_FORWARD>(e, at, bias, sum, lane, piece, totals);
  else if (e.kind == END_BACKWARD_RELU)
    end_pieces<T, END_BACKWARD_RELU>(e, at, bias, sum, lane, piece, totals);
  else
    end_pieces<T, END_ANY>(e, at, bias, sum, lane, piece, totals);
}

#endif
