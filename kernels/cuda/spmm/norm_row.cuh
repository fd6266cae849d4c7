/* The epilogue of a row of spmm with a layer norm: the row lies with LANES neighbouring threads, VECS vectors
 * of WIDE columns each, PITCH columns apart. Rows of all matrices hold whole vectors. */
#ifndef KERNELS_CUDA_SPMM_NORM_ROW_CUH
#define KERNELS_CUDA_SPMM_NORM_ROW_CUH

#include "kernels/cuda/spmm/spmm_epilogue.cuh"

/* Over the threads of the row; other rows of the warp may have parted. */
template <int LANES> static __device__ __forceinline__ float sum_of_group(float x) {
  static_assert((LANES & (LANES - 1)) == 0, "threads of a row exchange in pairs");
  const unsigned mask = LANES == 32 ? ~0u : ((1u << LANES % 32) - 1) << threadIdx.x % 32 / LANES * LANES;
#pragma unroll
  for (int o = 1; o < LANES; o *= 2) x += __shfl_xor_sync(mask, x, o);
  return x;
}

/* Sum over the row of u - center or of its square. */
template <int LANES, int VECS, int WIDE>
static __device__ __forceinline__ float sum_of_row(const float (&u)[VECS][WIDE], int32_t col, int32_t pitch,
                                                   int32_t width, float center, bool squared) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < VECS; j++) {
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
      const float value = u[j][i] - center;
      sum += col + j * pitch + i < width ? (squared ? value * value : value) : 0;
    }
  }
  return sum_of_group<LANES>(sum);
}

template <int WIDE>
static __device__ __forceinline__ void normalize(const struct spmm_epilogue &f, int32_t col, int n,
                                                 float mean, float rstd, float (&u)[WIDE]) {
  float gain[WIDE], shift[WIDE];
  if (f.end.gain) read_reals(f.end.gain, col, n, gain);
  if (f.end.shift) read_reals(f.end.shift, col, n, shift);
#pragma unroll
  for (int i = 0; i < WIDE; i++)
    u[i] = (u[i] - mean) * rstd * (f.end.gain ? gain[i] : 1) + (f.end.shift ? shift[i] : 0);
}

/* u: the row's sums; this thread's vectors begin at col, col + pitch, ... */
template <class T, int LANES, int VECS, int WIDE>
static __device__ __forceinline__ void norm_row(const struct spmm_epilogue &f, int32_t row, int32_t col,
                                                int32_t pitch, float (&u)[VECS][WIDE]) {
  const bool finished = is_finished(f, row);
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const int32_t mine = col + j * pitch;
    if (mine >= f.width) break;
    epilogue_sum<T>(f, true, row, mine, min(WIDE, f.width - mine), finished, u[j]);
    add_bias(f, mine, min(WIDE, f.width - mine), u[j]);
  }
  if (!finished) return; /* all threads of the row */
  const float width = (float)f.width;
  const float mean = sum_of_row<LANES>(u, col, pitch, f.width, 0, false) / width;
  const float variance = sum_of_row<LANES>(u, col, pitch, f.width, mean, true) / width;
  const float rstd = 1 / sqrtf(variance + f.end.epsilon);
  if (col == 0) f.end.mean[row] = mean, f.end.rstd[row] = rstd;
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const int32_t mine = col + j * pitch;
    const int n = min(WIDE, f.width - mine);
    if (n <= 0) break;
    normalize(f, mine, n, mean, rstd, u[j]);
    epilogue_and_store<T>(f, true, row, mine, n, u[j]);
  }
}

#endif
