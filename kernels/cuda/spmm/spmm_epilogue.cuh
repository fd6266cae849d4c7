/* The epilogue of a row of spmm: self loop, what is there already, row scale, what is added, epilogue. T is
 * the elements of X and of the rows' own X, float or bf16; results are T or float. */
#ifndef KERNELS_CUDA_SPMM_SPMM_EPILOGUE_CUH
#define KERNELS_CUDA_SPMM_SPMM_EPILOGUE_CUH

#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/tiles.h"

/* A matrix whose rows are `bytes` apart: a row's place is one 32 by 32 bit product. */
struct rows {
  char *data; /* NULL: absent */
  uint32_t bytes;
};

static inline struct rows rows_of(struct tensor t) {
  return {(char *)t.data, (uint32_t)(t.stride * dtype_bytes(t.dtype))};
}

template <class T> static __device__ __forceinline__ T *at(const struct rows &m, int32_t row, int32_t col) {
  return (T *)(m.data + (uint64_t)(uint32_t)row * m.bytes) + col;
}

/* Sums of windows of rows, a piece of a window after the other (kernels/format/window_pieces.h). */
struct window_sums {
  const int32_t *start; /* [windows + 1] pieces of each window */
  const float *sums;    /* [pieces, rows of a window, stride] */
  int64_t stride;
  int32_t row_bits; /* a window has 1 << row_bits rows */
};
enum { WINDOW_TIERS = 2 };

/* What tensor cores have summed of the rows: tiles, condensed windows. */
struct summed_windows {
  int32_t tiers;
  const int32_t *compressed; /* see struct cuda_layout */
  struct window_sums tier[WINDOW_TIERS];
};

/* What struct epilogue does to rows. */
struct row_end {
  const float *bias, *gain, *shift;
  float *mean, *rstd;
  float epsilon;
  enum activation activation;
  struct dropout dropout;
  struct philox_key round[PHILOX_ROUNDS]; /* dropout.key, and those that follow from it */
  const struct scalars *scalars;
};

/* And the loss of the rows that come out of it (loss_row.cuh). */
struct row_loss {
  const int32_t *label;
  const float *grad_scale;
  float *of_row;
  struct rows grad;
  float scale;
  bool whole, fills; /* as those of struct spmm_epilogue, of grad */
};

/* A ReLU whose gradient y is: its output, or the signs of that; the gradient of what is above 0 times
 * `scale`. */
struct relu_below {
  struct rows kept, signs;
  float scale;
};

struct spmm_epilogue {
  struct rows sums, y, self, added, out,
      residual; /* out: the epilogue's result, y itself or another matrix */
  struct relu_below below;
  int32_t width;
  bool accumulate;
  bool whole;  /* rows of all seven hold whole vectors at multiples of 16 bytes; kernels for such rows alone
                  do not ask, and pass `true` to what follows */
  bool fills;  /* the gaps behind the rows of sums, y and out may be written */
  bool narrow; /* y, out and residual are T, else float */
  const float *self_scale, *self_col_scale, *row_scale;
  const uint8_t *has_halo;
  struct summed_windows windows;
  struct row_end end;
  struct row_loss loss;
};

/* Columns [0, n) of `from`, n <= WIDE; of whole rows also what the gap behind them holds. */
template <class T, int WIDE>
static __device__ __forceinline__ void read_columns(const T *from, int n, bool whole, float (&to)[WIDE]) {
  load(from, whole ? WIDE : n, whole, to);
}

/* Columns [0, n). Whole rows whose gap may be filled get whole vectors, 0 behind the columns: parts of a
 * sector of memory cost more than the whole. Else as few stores as the number allows. */
template <class T, int WIDE>
static __device__ __forceinline__ void fill_columns(T *to, int n, const float (&x)[WIDE]) {
  float filled[WIDE];
#pragma unroll
  for (int i = 0; i < WIDE; i++) filled[i] = i < n ? x[i] : 0;
  store(to, WIDE, true, filled);
}

template <int WIDE>
static __device__ __forceinline__ void write_columns(const struct spmm_epilogue &f, bool whole, float *to,
                                                     int n, const float (&x)[WIDE]) {
  if constexpr (WIDE % 4 == 0) {
    if (f.fills) return fill_columns(to, n, x);
#pragma unroll
    for (int i = 0; i < WIDE; i += 4) {
      const float four[4] = {x[i], x[i + 1], x[i + 2], x[i + 3]};
      if (n > i) store(to + i, min(n - i, 4), whole, four);
    }
  } else {
    store(to, n, false, x);
  }
}

template <int WIDE>
static __device__ __forceinline__ void write_columns(const struct spmm_epilogue &f, bool whole, bf16 *to,
                                                     int n, const float (&x)[WIDE]) {
  if (WIDE % GROUP == 0 && f.fills)
    fill_columns(to, n, x);
  else
    store(to, n, whole, x);
}

/* The same of matrices that are T or float. */
template <class T, int WIDE>
static __device__ __forceinline__ void read_either(const struct spmm_epilogue &f, bool whole,
                                                   const struct rows &m, int32_t row, int32_t col, int n,
                                                   float (&to)[WIDE]) {
  if (sizeof(T) == sizeof(float) || !f.narrow)
    read_columns(at<float>(m, row, col), n, whole, to);
  else
    read_columns(at<T>(m, row, col), n, whole, to);
}

template <class T, int WIDE>
static __device__ __forceinline__ void write_either(const struct spmm_epilogue &f, bool whole,
                                                    const struct rows &m, int32_t row, int32_t col, int n,
                                                    const float (&x)[WIDE]) {
  if (sizeof(T) == sizeof(float) || !f.narrow)
    write_columns(f, whole, at<float>(m, row, col), n, x);
  else
    write_columns(f, whole, at<T>(m, row, col), n, x);
}

/* Reals of the columns, one for each. */
template <int WIDE>
static __device__ __forceinline__ void read_reals(const float *from, int32_t col, int n, float (&to)[WIDE]) {
  load(from + col, n, (uintptr_t)from % 16 == 0, to);
}

/* Dropout of columns [col, col + WIDE), which share one call of Philox. */
template <int WIDE>
static __device__ __forceinline__ void drop_columns(const struct spmm_epilogue &f, int32_t row, int32_t col,
                                                    float (&x)[WIDE]) {
  struct philox_block bits = dropout_counter(f.end.dropout, f.end.scalars->epoch, f.end.dropout.id[row], col);
#pragma unroll
  for (int round = 0; round < PHILOX_ROUNDS; round++) bits = philox_round(bits, f.end.round[round]);
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    const bool kept = is_kept(f.end.dropout, bits, j);
    if (col % GROUP / WIDE == j / WIDE) x[j % WIDE] = kept ? x[j % WIDE] * f.end.dropout.scale : 0;
  }
}

template <int WIDE>
static __device__ __forceinline__ void add_bias(const struct spmm_epilogue &f, int32_t col, int n,
                                                float (&x)[WIDE]) {
  float bias[WIDE];
  if (!f.end.bias) return;
  read_reals(f.end.bias, col, n, bias);
#pragma unroll
  for (int i = 0; i < WIDE; i++) x[i] += bias[i];
}

/* From the normalised columns to the result. */
template <class T, int WIDE>
static __device__ __forceinline__ void epilogue_columns(const struct spmm_epilogue &f, bool whole,
                                                        int32_t row, int32_t col, int n, float (&x)[WIDE]) {
  activate(f.end.activation, x);
  if (f.residual.data) {
    float residual[WIDE];
    read_either<T>(f, whole, f.residual, row, col, n, residual);
#pragma unroll
    for (int i = 0; i < WIDE; i++) x[i] += residual[i];
  }
  if (f.end.dropout.threshold > 0) drop_columns(f, row, col, x);
}

template <class T, int WIDE>
static __device__ __forceinline__ void epilogue_and_store(const struct spmm_epilogue &f, bool whole,
                                                          int32_t row, int32_t col, int n, float (&x)[WIDE]) {
  epilogue_columns<T>(f, whole, row, col, n, x);
  write_either<T>(f, whole, f.out, row, col, n, x);
}

static __device__ __forceinline__ bool is_finished(const struct spmm_epilogue &f, int32_t row) {
  return !f.has_halo || !f.has_halo[row];
}

/* What the pieces of compressed row i's window add, in their order. */
template <int WIDE>
static __device__ __forceinline__ void add_window(const struct window_sums &tier, uint32_t i, int32_t col,
                                                  int n, float (&sum)[WIDE]) {
  const uint32_t window = i >> tier.row_bits, place = (uint32_t)tier.start[window];
  const float *from = tier.sums + ((((int64_t)place - window) << tier.row_bits) + i) * tier.stride + col;
#pragma unroll 1
  for (int left = tier.start[window + 1] - (int)place; left > 0; left--) {
    float other[WIDE];
    load(from, n, true, other);
#pragma unroll
    for (int j = 0; j < WIDE; j++) sum[j] += other[j];
    from += tier.stride << tier.row_bits;
  }
}

template <int WIDE>
static __device__ __forceinline__ void add_windows(const struct spmm_epilogue &f, int32_t row, int32_t col,
                                                   int n, float (&sum)[WIDE]) {
  const uint32_t i = (uint32_t)(f.windows.compressed ? f.windows.compressed[row] : row);
#pragma unroll
  for (int t = 0; t < WINDOW_TIERS; t++)
    if (f.windows.tiers > t) add_window(f.windows.tier[t], i, col, n, sum);
}

/* The other tiers, the self loop, what is there already, the row scale, what is added past it and the ReLU
 * below; then what rows that do not finish leave, and z where it is kept apart from the result. */
template <class T, int WIDE>
static __device__ __forceinline__ void epilogue_sum(const struct spmm_epilogue &f, bool whole, int32_t row,
                                                    int32_t col, int n, bool finished, float (&sum)[WIDE]) {
  float other[WIDE];
  if (f.windows.tiers > 0) add_windows(f, row, col, n, sum);
  if (f.self_scale) {
    const float scale = f.self_scale[row] * (f.self_col_scale ? f.self_col_scale[row] : 1);
    read_columns(at<T>(f.self, row, col), n, whole, other);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += scale * other[i];
  }
  if (f.accumulate) {
    read_columns(at<float>(f.sums, row, col), n, whole, other);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += other[i];
  }
  if (!finished) return write_columns(f, whole, at<float>(f.sums, row, col), n, sum);
  if (f.row_scale) {
    const float scale = f.row_scale[row];
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] *= scale;
  }
  if (f.added.data) {
    read_columns(at<T>(f.added, row, col), n, whole, other);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += other[i];
  }
  if (f.below.kept.data) {
    read_columns(at<T>(f.below.kept, row, col), n, whole, other);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] = other[i] > 0 ? sum[i] * f.below.scale : 0;
  }
  if (f.below.signs.data) {
    static_assert(GROUP % WIDE == 0, "columns of one byte");
    const uint32_t bits = n > 0 ? *at<uint8_t>(f.below.signs, row, col / GROUP) >> col % GROUP : 0;
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] = bits >> i & 1 ? sum[i] * f.below.scale : 0;
  }
  if (f.out.data != f.y.data) write_either<T>(f, whole, f.y, row, col, n, sum);
}

/* sum: columns [col, col + WIDE) of the row, col a multiple of WIDE; those behind the width are ignored.
 * Without an update, which is what a zeroed `finish` has, z is the result. */
template <class T, int WIDE>
static __device__ __forceinline__ void epilogue_row(const struct spmm_epilogue &f, bool whole, int32_t row,
                                                    int32_t col, float (&sum)[WIDE]) {
  const int n = min(WIDE, f.width - col);
  const bool finished = is_finished(f, row);
  epilogue_sum<T>(f, whole, row, col, n, finished, sum);
  if (!finished) return;
  add_bias(f, col, n, sum);
  epilogue_and_store<T>(f, whole, row, col, n, sum);
}

/* Whether nothing is between the sums of a row and y, both T, but the row scale and the epilogue. */
static inline bool is_bare(const struct spmm_epilogue &f) {
  return f.narrow && f.windows.tiers == 0 && !f.self_scale && !f.accumulate && !f.has_halo && !f.added.data &&
         !f.below.kept.data && !f.below.signs.data;
}

/* The epilogue of such rows, of at most a bias, a ReLU and dropout, in place and in whole vectors:
 * epilogue_row's bits without most of its tests, which sums of few entries feel. */
static inline bool is_plain(const struct spmm_epilogue &f, int64_t element) {
  return is_bare(f) && f.whole && f.width * element % 16 == 0;
}

static inline bool is_plain_epilogue(const struct spmm_epilogue &f, const struct epilogue &epilogue) {
  return epilogue.y.data == f.y.data && !epilogue.residual.data &&
         (epilogue.activation == ACTIVATION_NONE || epilogue.activation == ACTIVATION_RELU);
}

/* A whole vector, the ReLU of x: in bf16 it comes along with rounding. */
static __device__ __forceinline__ void store_relu(bf16 *to, const float (&x)[GROUP]) {
  uint4 pair;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair.x) : "f"(x[1]), "f"(x[0]));
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair.y) : "f"(x[3]), "f"(x[2]));
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair.z) : "f"(x[5]), "f"(x[4]));
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair.w) : "f"(x[7]), "f"(x[6]));
  *(uint4 *)to = pair;
}

static __device__ __forceinline__ void store_relu(float *to, const float (&x)[4]) {
  *(float4 *)to = make_float4(relu(x[0]), relu(x[1]), relu(x[2]), relu(x[3]));
}

/* Dropout's scale is above 0: the ReLU may follow it. */
template <class T, int WIDE>
static __device__ __forceinline__ void plain_row(const struct spmm_epilogue &f, int32_t row, int32_t col,
                                                 float (&sum)[WIDE]) {
  if (f.row_scale) {
    const float scale = f.row_scale[row];
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] *= scale;
  }
  add_bias(f, col, WIDE, sum);
  if (f.end.dropout.threshold > 0) drop_columns(f, row, col, sum);
  if (f.end.activation == ACTIVATION_RELU)
    store_relu(at<T>(f.y, row, col), sum);
  else
    store(at<T>(f.y, row, col), WIDE, true, sum);
}

#endif
