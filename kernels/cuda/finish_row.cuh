/* The end of a row of spmm: self loop, what is there already, row scale, update. */
#ifndef KERNELS_CUDA_FINISH_ROW_CUH
#define KERNELS_CUDA_FINISH_ROW_CUH

#include "kernels/cuda/columns.cuh"

struct finish {
  struct tensor y, self, out; /* out: update's result, y itself or another matrix */
  const float *self_scale, *self_col_scale, *row_scale;
  const uint8_t *unfinished;
  bool accumulate, updates; /* updates: without a norm */
  bool aligned;             /* all matrices of rows */
  const float *bias;
  enum activation activation;
  struct tensor residual;
  struct dropout dropout;
  const struct scalars *scalars;
};

/* Dropout of columns [col, col + WIDE), WIDE 1 or 4, which share one call of Philox. */
template <int WIDE>
static __device__ __forceinline__ void drop_columns(const struct finish &f, int64_t row, int64_t col,
                                                    float (&x)[WIDE]) {
  const struct philox_block bits = dropout_bits(f.dropout, f.scalars->epoch, f.dropout.id[row], col);
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    const bool kept = is_kept(f.dropout, bits, j);
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
      if (col % GROUP + i == j) x[i] = kept ? x[i] * f.dropout.scale : 0;
    }
  }
}

template <int WIDE>
static __device__ __forceinline__ void update_columns(const struct finish &f, int64_t row, int64_t col, int n,
                                                      float (&x)[WIDE]) {
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    if (f.bias) x[i] += i < n ? f.bias[col + i] : 0;
    x[i] = activated(f.activation, x[i]);
  }
  if (f.residual.data) {
    float residual[WIDE];
    load(row_of(f.residual, row) + col, n, f.aligned, residual);
#pragma unroll
    for (int i = 0; i < WIDE; i++) x[i] += residual[i];
  }
  if (f.dropout.threshold > 0) drop_columns(f, row, col, x);
}

/* sum: columns [col, col + WIDE) of the row; those at or behind the width are ignored. */
template <int WIDE>
static __device__ __forceinline__ void finish_row(const struct finish &f, int64_t row, int64_t col,
                                                  float (&sum)[WIDE]) {
  const int n = (int)min((int64_t)WIDE, f.y.cols - col);
  const bool finishes = !f.unfinished || !f.unfinished[row];
  float *y = row_of(f.y, row) + col;
  float other[WIDE];
  if (f.self_scale) {
    const float scale = f.self_scale[row] * (f.self_col_scale ? f.self_col_scale[row] : 1);
    load(row_of(f.self, row) + col, n, f.aligned, other);
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
  if (!f.updates || !finishes || f.out.data != f.y.data) store(y, n, f.aligned, sum);
  if (!f.updates || !finishes) return;
  update_columns(f, row, col, n, sum);
  store(row_of(f.out, row) + col, n, f.aligned, sum);
}

#endif
