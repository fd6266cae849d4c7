/* What the way back through the epilogue of a layer does to a thread's eight columns; see struct
 * epilogue_backward. */
#ifndef KERNELS_CUDA_ELEMENTWISE_EPILOGUE_BACKWARD_ROW_CUH
#define KERNELS_CUDA_ELEMENTWISE_EPILOGUE_BACKWARD_ROW_CUH

#include "kernels/cuda/elementwise/epilogue_row.cuh"

/* What is read of the forward pass. */
enum saved_values { NOTHING, Y, SIGNS, Z, Z_OF_NORM };

struct backward {
  struct epilogue forward;
  struct tensor dy, dz, residual_grad, signs;
  const void *scale;
  const struct scalars *scalars;
  float2 *means;   /* [rows] of g and of g xhat; NULL: a row's lanes find them */
  double *partial; /* [sums, parts, cols]: bias, then shift and gain when there is a norm; NULL: not wanted */
  struct cut cut;
  bool masks; /* dropout needs its mask: after a ReLU whose output was kept, a dropped element reads as 0 */
};

/* d *= act'(n). */
static __device__ __forceinline__ void multiply_by_slope(enum activation activation, const float (&n)[GROUP],
                                                         float (&d)[GROUP]) {
  if (activation == ACTIVATION_RELU) {
#pragma unroll
    for (int j = 0; j < GROUP; j++) d[j] = n[j] > 0 ? d[j] : 0;
  } else if (activation != ACTIVATION_NONE) {
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      const float x = n[j];
      const float slope = activation == ACTIVATION_ELU ? expf(fminf(x, 0)) : LEAKY_SLOPE;
      d[j] *= x > 0 ? 1 : slope;
    }
  }
}

/* The same from y = act(n) times the dropout's scale: y has n's sign, and for ELU exp(n) = act(n) + 1. Where
 * y was dropped d is 0 already. */
static __device__ __forceinline__ void multiply_by_slope_at(const struct epilogue &forward,
                                                            const float (&y)[GROUP], float (&d)[GROUP]) {
  if (forward.activation != ACTIVATION_ELU) {
    multiply_by_slope(forward.activation, y, d);
    return;
  }
  const float unscale = forward.dropout.threshold > 0 ? 1 / forward.dropout.scale : 1;
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    const float x = y[j];
    d[j] *= x > 0 ? 1 : x * unscale + 1;
  }
}

/* d *= act'(n) where saved is z - center, which turns into xhat. */
static __device__ __forceinline__ void norm_backward(const struct epilogue &forward, int v,
                                                     const struct norm_columns &c, float (&saved)[GROUP],
                                                     float (&d)[GROUP]) {
  const bool layer = forward.norm == NORM_LAYER && v < forward.z.rows;
  const float mean = layer ? ((const float *)forward.mean)[v] : 0;
  const float rstd = layer ? ((const float *)forward.rstd)[v] : 1;
  float n[GROUP];
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    saved[j] = (saved[j] - mean) * rstd * c.rstd[j];
    n[j] = saved[j] * c.gain[j] + c.shift[j];
  }
  multiply_by_slope(forward.activation, n, d);
}

/* From dropout'(dy) to dn; saved, of row v, turns into xhat where there is a norm. Rows behind
 * the end are all 0 and stay so in d. */
template <saved_values SAVED>
static __device__ __forceinline__ void activation_backward(const struct epilogue &forward, int v,
                                                           const struct norm_columns &c,
                                                           float (&saved)[GROUP], float (&d)[GROUP]) {
  if constexpr (SAVED == Y) {
    multiply_by_slope_at(forward, saved, d);
  } else {
#pragma unroll
    for (int j = 0; j < GROUP; j++) saved[j] -= c.center[j];
    if constexpr (SAVED == Z)
      multiply_by_slope(forward.activation, saved, d);
    else
      norm_backward(forward, v, c, saved, d);
  }
}

/* g and g xhat of eight columns, n of them there, added up. */
static __device__ __forceinline__ float2 sums_of_group(int n, const struct norm_columns &c,
                                                       const float (&xhat)[GROUP], const float (&d)[GROUP]) {
  float2 sum = make_float2(0, 0);
#pragma unroll
  for (int j = 0; j < GROUP; j++) {
    const float g = j < n ? d[j] * c.gain[j] : 0;
    sum.x += g;
    sum.y += j < n ? g * xhat[j] : 0;
  }
  return sum;
}

static __device__ __forceinline__ float2 means_of_lanes(float2 sum, int64_t cols) {
  return make_float2(sum_of_lanes(sum.x) / (float)cols, sum_of_lanes(sum.y) / (float)cols);
}

/* d = dn -> dz, by all lanes of row v; rows behind the end are all 0. */
static __device__ __forceinline__ void layer_norm_backward(const struct backward &op, int v, int n,
                                                           const struct norm_columns &c,
                                                           const float (&xhat)[GROUP], float (&d)[GROUP]) {
  const bool there = v < op.dz.rows;
  const float rstd = there ? ((const float *)op.forward.rstd)[v] : 0;
  float2 mean = make_float2(0, 0);
  if (!op.means)
    mean = means_of_lanes(sums_of_group(n, c, xhat, d), op.dz.cols);
  else if (there)
    mean = op.means[v];
#pragma unroll
  for (int j = 0; j < GROUP; j++) d[j] = rstd * (d[j] * c.gain[j] - mean.x - xhat[j] * mean.y);
}

/* op.means for rows of any length. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    layer_means_kernel(const __grid_constant__ struct backward op) {
  const int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, cols = op.dz.cols;
  const bool there = v < op.dz.rows;
  const uint32_t epoch = op.scalars->epoch;
  float2 sum = make_float2(0, 0);
  for (int64_t first = threadIdx.x * GROUP; there && first < cols; first += blockDim.x * GROUP) {
    const int n = columns_from(cols, first);
    float d[GROUP], saved[GROUP];
    struct norm_columns c;
    load_norm<true>(op.forward, first, n, c);
    load_group<T, false>(op.dy, v, first, n, d);
    load_group<T, false>(op.forward.z, v, first, n, saved);
    if (op.masks) drop(op.forward.dropout, epoch, op.forward.dropout.id[v], first, d);
    activation_backward<Z_OF_NORM>(op.forward, (int)v, c, saved, d);
    const float2 more = sums_of_group(n, c, saved, d);
    sum.x += more.x, sum.y += more.y;
  }
  const float2 means = means_of_lanes(sum, cols);
  if (there && threadIdx.x == 0) op.means[v] = means;
}

#endif
