/* Where a lane's sums of a product belong, as wgmma leaves them: what the ends of bulk products share. */
#ifndef KERNELS_CUDA_GEMM_GEMM_PLACE_CUH
#define KERNELS_CUDA_GEMM_GEMM_PLACE_CUH

#include "kernels/cuda/gemm/gemm_end.cuh"

/* Lane 4 g + q has sums of rows v and v + 8, as far as these are there. */
struct lane_place {
  int64_t v;
  int g, q;
  bool is_there[2];
  float factor[2];
  int64_t id[2];
};

static __device__ __forceinline__ bool drops_forward(const struct end &e) {
  return e.kind == END_FORWARD && e.dropout.threshold > 0;
}

/* In the tile of so many rows that begins at `first`; row: the lane's first. */
static __device__ __forceinline__ struct lane_place place_of_lane(const struct end &e, int64_t first,
                                                                  int rows, int row, int lane) {
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

static __device__ __forceinline__ int sums_wanted(const struct end &e) {
  return e.sums ? sums_of(e.kind) : 0;
}

/* What a block keeps of column `col`, in place `at` of [reals, cols]. */
static __device__ __forceinline__ void put_reals(const struct end &e, int col, bool is_there, int cols,
                                                 int at, float *reals) {
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

#endif
