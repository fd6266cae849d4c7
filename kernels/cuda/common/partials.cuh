/* Column sums over rows in two stages: blocks of rows leave one row of doubles each, and add_partials adds
 * these in order. */
#ifndef KERNELS_CUDA_COMMON_PARTIALS_CUH
#define KERNELS_CUDA_COMMON_PARTIALS_CUH

#include "kernels/cuda/common/walk.cuh"

/* SUMS sums of each of a thread's columns: of some rows as floats in registers, of all as doubles in shared
 * memory, where each thread has its own. */
template <int SUMS> struct column_totals {
  double *total; /* [SUMS, GROUP, BLOCK] */
  float sum[SUMS][GROUP];
  int rows; /* that sum holds */
};

static __device__ __forceinline__ int thread_of_block() {
  return (int)(threadIdx.y * blockDim.x + threadIdx.x);
}

/* What a walk over a matrix alone reads at a time. */
template <class T> struct summed_rows {
  static constexpr int ROWS = 8 / (int)sizeof(T);
  packed<T> x[ROWS];
};

template <class T, bool WHOLE>
static __device__ __forceinline__ struct summed_rows<T> read_summed_rows(const struct tensor &x, int v,
                                                                         int end, int64_t first, int n) {
  struct summed_rows<T> in;
#pragma unroll
  for (int r = 0; r < summed_rows<T>::ROWS; r++) {
    const int row = v + r * (int)blockDim.y;
    in.x[r] = read_group<T, WHOLE>(x, row < end, row, first, n);
  }
  return in;
}

template <int SUMS>
static __device__ __forceinline__ void clear_totals(struct column_totals<SUMS> &t, double *total) {
  t.total = total;
  t.rows = 0;
#pragma unroll
  for (int i = 0; i < SUMS * GROUP; i++) {
    t.sum[i / GROUP][i % GROUP] = 0;
    total[i * BLOCK + thread_of_block()] = 0;
  }
}

/* From the registers to shared memory. */
template <int SUMS> static __device__ __forceinline__ void flush_totals(struct column_totals<SUMS> &t) {
  t.rows = 0;
#pragma unroll
  for (int i = 0; i < SUMS * GROUP; i++) {
    t.total[i * BLOCK + thread_of_block()] += (double)t.sum[i / GROUP][i % GROUP];
    t.sum[i / GROUP][i % GROUP] = 0;
  }
}

/* After `rows` more rows. */
template <int SUMS>
static __device__ __forceinline__ void count_rows(struct column_totals<SUMS> &t, int rows) {
  t.rows += rows;
  if (t.rows >= 16) flush_totals(t);
}

/* Adds the threads' sum number s over the rows of a block into partial [cols]: each thread adds up one of
 * the block's columns. By the whole block, after flush_totals and a barrier. */
template <int SUMS>
static __device__ __forceinline__ void reduce_totals(const struct column_totals<SUMS> &t, int s, int64_t cols,
                                                     double *partial) {
  const int lanes = (int)blockDim.x, lane = thread_of_block() % lanes, j = thread_of_block() / lanes;
  const int64_t col = ((int64_t)blockIdx.y * lanes + lane) * GROUP + j;
  double sum = 0;
  if (j >= GROUP || col >= cols) return;
  for (int r = 0; r < (int)blockDim.y; r++) sum += t.total[(s * GROUP + j) * BLOCK + r * lanes + lane];
  partial[col] = sum;
}

/* out[j] = sum over p < parts of partial[p * cols + j]; 0 without parts. */
int cuda_add_partials(struct kernels *k, const double *partial, int64_t parts, int64_t cols, float *out);

/* The same of parts that have two such rows each, [parts, 2, cols], into out[0] and out[1]. */
int cuda_add_pairs(struct kernels *k, const double *partial, int64_t parts, int64_t cols,
                   float *const out[2]);

/* Moments of op->x from parts' sums of x - near and of its squares, [parts, 2, cols]. near: float [cols]. */
int cuda_end_moments(struct kernels *k, const struct column_moments *op, const double *partial, int64_t parts,
                     const float *near);

/* The same into the elements of a matrix of floats, row by row. */
int cuda_add_partials_to(struct kernels *k, const double *partial, int64_t parts, struct tensor out);

#endif
