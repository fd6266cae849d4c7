/* Adds up the pieces that long rows of a sparse matrix were cut into (kernels/slots.h), in their order, and
 * ends these rows. */
#ifndef KERNELS_CUDA_SPMM_LONG_ROWS_CUH
#define KERNELS_CUDA_SPMM_LONG_ROWS_CUH

#include "kernels/cuda/follow.cuh"
#include "kernels/cuda/layout/layout.h"
#include "kernels/cuda/spmm/finish_row.cuh"

struct long_rows {
  const struct long_row *row;
  int64_t count;
  const int32_t *tall; /* places of the rows of more than TALL_PIECES */
  int32_t talls;
  const float *partial; /* [pieces, stride] */
  int64_t stride;
  int32_t first; /* column; those up to finish.width are added */
};

constexpr int LONG_COLS = 32, LONG_ROWS = BLOCK / LONG_COLS; /* of a block */

static inline int32_t column_groups(const struct long_rows &op, int32_t width) {
  return (width - op.first + LONG_COLS - 1) / LONG_COLS;
}

/* Sum of the pieces begin, begin + step, ... of a column. */
static __device__ __forceinline__ double sum_pieces(const struct long_rows &op, const struct long_row &row,
                                                    int32_t col, int begin, int step) {
  const float *piece = op.partial + row.first_piece * op.stride + col;
  double total = 0;
#pragma unroll 8
  for (int p = begin; p < row.pieces; p += step) total += (double)piece[p * op.stride];
  return total;
}

/* A block for LONG_COLS columns of a tall row: LONG_ROWS threads a column. */
template <class T>
static __device__ __forceinline__ void tall_row(const struct long_rows &op, const struct finish &finish,
                                                int block, int groups) {
  __shared__ double part[LONG_ROWS][LONG_COLS];
  const struct long_row row = op.row[op.tall[block / groups]];
  const int32_t col = op.first + block % groups * LONG_COLS + (int32_t)threadIdx.x;
  part[threadIdx.y][threadIdx.x] = col < finish.width ? sum_pieces(op, row, col, (int)threadIdx.y, LONG_ROWS)
                                                      : 0;
  __syncthreads();
  if (threadIdx.y > 0 || col >= finish.width) return;
  double total = 0;
#pragma unroll
  for (int i = 0; i < LONG_ROWS; i++) total += part[i][threadIdx.x];
  float sum[1] = {(float)total};
  finish_row<T>(finish, finish.whole, row.row, col, sum);
}

/* The first blocks are those of tall rows; the others have LONG_COLS columns of LONG_ROWS rows, a thread for
 * each, which adds all pieces. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    long_rows_kernel(const __grid_constant__ struct long_rows op,
                     const __grid_constant__ struct finish finish) {
  const int groups = (finish.width - op.first + LONG_COLS - 1) / LONG_COLS;
  follow();
  const int block = (int)blockIdx.x - op.talls * groups;
  if (block < 0) return tall_row<T>(op, finish, (int)blockIdx.x, groups);
  const int64_t i = (int64_t)(block / groups) * LONG_ROWS + threadIdx.y;
  const int32_t col = op.first + block % groups * LONG_COLS + (int32_t)threadIdx.x;
  if (i >= op.count || col >= finish.width) return;
  const struct long_row row = op.row[i];
  if (row.pieces > TALL_PIECES) return;
  float sum[1] = {(float)sum_pieces(op, row, col, 0, 1)};
  finish_row<T>(finish, finish.whole, row.row, col, sum);
}

#endif
