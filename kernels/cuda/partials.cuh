/* Column sums over rows in two stages: blocks of rows leave one row of doubles each, and add_partials adds
 * these in order. How rows are cut depends on their number alone. */
#ifndef KERNELS_CUDA_PARTIALS_CUH
#define KERNELS_CUDA_PARTIALS_CUH

#include "kernels/cuda/columns.cuh"

/* Blocks of rows: about eight to a multiprocessor of the largest GPUs, each of at least 64 rows. */
static inline int64_t rows_of_part(int64_t rows) {
  int64_t each = (rows + 1023) / 1024;
  return each < 64 ? 64 : each;
}

static inline int64_t parts_of(int64_t rows) {
  int64_t each = rows_of_part(rows);
  return (rows + each - 1) / each;
}

/* Adds the threads' sums over the rows of a block, for the columns [first, first + GROUP) of each lane, into
 * partial. `shared` holds BLOCK doubles. */
static __device__ __forceinline__ void reduce_rows(const double (&sum)[GROUP], double *shared, int64_t first,
                                                   int64_t cols, double *partial) {
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    __syncthreads();
    shared[at] = sum[j];
    __syncthreads();
    if (threadIdx.y == 0 && first + j < cols) {
      double total = 0;
      for (unsigned r = 0; r < blockDim.y; r++) total += shared[r * blockDim.x + threadIdx.x];
      partial[first + j] = total;
    }
  }
}

/* out[j] = sum over p < parts of partial[p * cols + j]; 0 without parts. */
int cuda_add_partials(struct kernels *k, const double *partial, int64_t parts, int64_t cols, float *out);

#endif
