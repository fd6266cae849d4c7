/* The end of a row of spmm: self loop, what is there already, row scale, update. */
#ifndef KERNELS_CUDA_FINISH_ROW_CUH
#define KERNELS_CUDA_FINISH_ROW_CUH

#include "kernels/cuda/columns.cuh"

/* A matrix whose rows are `bytes` apart: a row's place is one 32 by 32 bit product. */
struct rows {
  char *data; /* NULL: absent */
  uint32_t bytes;
};

static inline struct rows rows_of(struct tensor t) {
  return {(char *)t.data, (uint32_t)(t.stride * (int64_t)sizeof(float))};
}

static __device__ __forceinline__ float *at(const struct rows &m, int32_t row, int32_t col) {
  return (float *)(m.data + (uint64_t)(uint32_t)row * m.bytes) + col;
}

struct finish {
  struct rows y, self, out, residual; /* out: update's result, y itself or another matrix */
  int32_t width;
  bool accumulate, aligned; /* aligned: all four matrices */
  const float *self_scale, *self_col_scale, *row_scale;
  const uint8_t *unfinished;
  const float *bias; /* from here on: update's, without a norm */
  enum activation activation;
  struct dropout dropout;
  const struct scalars *scalars;
};

/* Dropout of columns [col, col + WIDE), which share one call of Philox. */
template <int WIDE>
static __device__ __forceinline__ void drop_columns(const struct finish &f, int32_t row, int32_t col,
                                                    float (&x)[WIDE]) {
  const struct philox_block bits = dropout_bits(f.dropout, f.scalars->epoch, f.dropout.id[row], col);
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    const bool kept = is_kept(f.dropout, bits, j);
    if (col % GROUP / WIDE == j / WIDE) x[j % WIDE] = kept ? x[j % WIDE] * f.dropout.scale : 0;
  }
}

template <int WIDE>
static __device__ __forceinline__ void update_columns(const struct finish &f, int32_t row, int32_t col, int n,
                                                      float (&x)[WIDE]) {
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    if (f.bias) x[i] += i < n ? f.bias[col + i] : 0;
    x[i] = activated(f.activation, x[i]);
  }
  if (f.residual.data) {
    float residual[WIDE];
    load(at(f.residual, row, col), n, f.aligned, residual);
#pragma unroll
    for (int i = 0; i < WIDE; i++) x[i] += residual[i];
  }
  if (f.dropout.threshold > 0) drop_columns(f, row, col, x);
}

/* sum: columns [col, col + WIDE) of the row, col a multiple of WIDE; those behind the width are ignored. */
template <bool UPDATES, int WIDE>
static __device__ __forceinline__ void finish_row(const struct finish &f, int32_t row, int32_t col,
                                                  float (&sum)[WIDE]) {
  const int n = min(WIDE, f.width - col);
  const bool finishes = !f.unfinished || !f.unfinished[row];
  float *y = at(f.y, row, col), other[WIDE];
  if (f.self_scale) {
    const float scale = f.self_scale[row] * (f.self_col_scale ? f.self_col_scale[row] : 1);
    load(at(f.self, row, col), n, f.aligned, other);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += scale * other[i];
  }
  if (f.accumulate) {
    load(y, n, f.aligned, other);
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] += other[i];
  }
  if (finishes && f.row_scale) {
    const float scale = f.row_scale[row];
#pragma unroll
    for (int i = 0; i < WIDE; i++) sum[i] *= scale;
  }
  if (!UPDATES || !finishes || f.out.data != f.y.data) store(y, n, f.aligned, sum);
  if (!UPDATES || !finishes) return;
  update_columns(f, row, col, n, sum);
  store(at(f.out, row, col), n, f.aligned, sum);
}

#endif
