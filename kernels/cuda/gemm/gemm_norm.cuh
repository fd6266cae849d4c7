/* A batch norm in the epilogue of a product: the moments of what it makes; and the way back through one below
 * a ReLU. There x is dy, dn = x where n = xhat gain + shift > 0 and else 0, with xhat = (z - mean) rstd:
 * first its sums over rows are wanted, and those of dn xhat; once they are of all ranks, dz = dn gain rstd -
 * (z - mean) slope - constant. */
#ifndef KERNELS_CUDA_GEMM_GEMM_NORM_CUH
#define KERNELS_CUDA_GEMM_GEMM_NORM_CUH

#include "kernels/cuda/common/vec.cuh"

/* A real for each column; mean NULL: there is no norm. */
struct norm_epilogue {
  const float *mean, *rstd, *gain, *shift;
  const float *sum_dn, *sum_dn_xhat; /* NULL: not yet */
  float share;                       /* 1 / rows of all ranks */
};

/* What a block keeps of each of its columns. */
enum norm_real { NORM_MEAN, NORM_RSTD, NORM_GAIN, NORM_SHIFT, NORM_SLOPE, NORM_CONSTANT, NORM_REALS };
constexpr int NORM_SUM_REALS = NORM_SLOPE; /* while the sums are to come */

/* Column `col` into place `at` of [reals, cols]; 0 for one that is not there. */
static __device__ __forceinline__ void put_norm(const struct norm_epilogue &norm, int col, bool is_there,
                                                int cols, int at, float *reals) {
  const float rstd = is_there ? norm.rstd[col] : 0, gain = is_there ? norm.gain[col] : 0;
  reals[NORM_MEAN * cols + at] = is_there ? norm.mean[col] : 0;
  reals[NORM_RSTD * cols + at] = rstd;
  reals[NORM_GAIN * cols + at] = gain;
  reals[NORM_SHIFT * cols + at] = is_there ? norm.shift[col] : 0;
  if (!norm.sum_dn) return;
  reals[NORM_SLOPE * cols + at] = is_there ? gain * rstd * rstd * norm.sum_dn_xhat[col] * norm.share : 0;
  reals[NORM_CONSTANT * cols + at] = is_there ? gain * rstd * norm.sum_dn[col] * norm.share : 0;
}

/* Those of N neighbours; APPLIES: all, else those that the sums take. */
template <int N> struct norm_columns_of { float real[NORM_REALS][N]; };

template <int N, bool APPLIES>
static __device__ __forceinline__ void take_norm(const float *reals, int cols, int at,
                                                 struct norm_columns_of<N> &to) {
#pragma unroll
  for (int i = 0; i < (APPLIES ? NORM_REALS : NORM_SUM_REALS); i++) {
    const float *from = reals + i * cols + at;
    if constexpr (N == 4) {
      const float4 four = *(const float4 *)from;
      to.real[i][0] = four.x, to.real[i][1] = four.y, to.real[i][2] = four.z, to.real[i][3] = four.w;
    } else {
      const float2 two = *(const float2 *)from;
      to.real[i][0] = two.x, to.real[i][1] = two.y;
    }
  }
}

/* N neighbours of a row. x: dy, becomes dn or, APPLIES, dz. */
template <int N, bool APPLIES>
static __device__ __forceinline__ void norm_backward(const struct norm_columns_of<N> &c, const float (&z)[N],
                                                     float (&x)[N], float (&xhat)[N]) {
#pragma unroll
  for (int j = 0; j < N; j++) {
    const float distance = z[j] - c.real[NORM_MEAN][j];
    xhat[j] = distance * c.real[NORM_RSTD][j];
    x[j] = xhat[j] * c.real[NORM_GAIN][j] + c.real[NORM_SHIFT][j] > 0 ? x[j] : 0;
    if (APPLIES)
      x[j] = x[j] * (c.real[NORM_GAIN][j] * c.real[NORM_RSTD][j]) - distance * c.real[NORM_SLOPE][j] -
             c.real[NORM_CONSTANT][j];
  }
}

#endif
