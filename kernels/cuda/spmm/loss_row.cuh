/* The epilogue of a row of spmm whose epilogue is followed by a cross entropy: the row lies with LANES
 * neighbouring threads, VECS vectors of WIDE columns each, `pitch` columns apart. Its logits stay in
 * registers. Rows of all matrices hold whole vectors. */
#ifndef KERNELS_CUDA_SPMM_LOSS_ROW_CUH
#define KERNELS_CUDA_SPMM_LOSS_ROW_CUH

#include "kernels/cuda/spmm/spmm_epilogue.cuh"

/* What LANES neighbouring threads hold, put together two at a time, the same in each of them; by the whole
 * warp. first: the first of them in the warp, lane: this thread's place among them. */
template <int LANES, class PAIR>
static __device__ __forceinline__ float over_lanes(float x, int first, int lane, PAIR pair) {
#pragma unroll
  for (int left = LANES; left > 1; left = (left + 1) / 2) {
    const int half = (left + 1) / 2;
    const float other = __shfl_down_sync(~0u, x, half);
    if (lane + half < left) x = pair(x, other);
  }
  return LANES > 1 ? __shfl_sync(~0u, x, first) : x;
}

/* From the row's sums to its logits, if it finishes, or to the bare sums; behind its columns -infinity. */
template <class T, int VECS, int WIDE>
static __device__ __forceinline__ void epilogue_logits(const struct spmm_epilogue &f, int32_t row,
                                                       int32_t col, int32_t pitch, bool finished,
                                                       float (&u)[VECS][WIDE]) {
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const int32_t mine = col + j * pitch;
    const int n = min(WIDE, f.width - mine);
    if (n > 0) {
      epilogue_sum<T>(f, true, row, mine, n, finished, u[j]);
      add_bias(f, mine, n, u[j]);
      epilogue_columns<T>(f, true, row, mine, n, u[j]);
    }
    if (n == WIDE) continue;
#pragma unroll
    for (int i = 0; i < WIDE; i++) u[j][i] = i < n ? u[j][i] : -INFINITY;
  }
}

/* x[i]. */
template <int WIDE> static __device__ __forceinline__ float element_of(const float (&x)[WIDE], int i) {
  float left[WIDE];
#pragma unroll
  for (int k = 0; k < WIDE; k++) left[k] = x[k];
#pragma unroll
  for (int bit = 1; bit < WIDE; bit *= 2) {
#pragma unroll
    for (int k = 0; k < WIDE; k += 2 * bit) left[k] = i & bit ? left[k + bit] : left[k];
  }
  return left[0];
}

/* u: exponentials, which become the gradient by their factor; none where the row does not count. */
template <class T, int VECS, int WIDE>
static __device__ __forceinline__ void write_gradient(const struct spmm_epilogue &f, int32_t row, int32_t col,
                                                      int32_t pitch, bool counts, float share,
                                                      float (&u)[VECS][WIDE]) {
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const int32_t mine = col + j * pitch;
    const int n = min(WIDE, f.width - mine);
    if (n <= 0) break;
#pragma unroll
    for (int i = 0; i < WIDE; i++) u[j][i] = counts ? u[j][i] * share : 0;
    store(at<T>(f.loss.grad, row, mine), f.loss.fills ? WIDE : n, true, u[j]);
  }
}

/* u: the row's sums; this thread's vectors begin at col, col + pitch, ... By the whole warp. there: this
 * thread has a part of a row, whose label that is; label < 0: the row does not count. */
template <class T, int LANES, int VECS, int WIDE>
static __device__ __forceinline__ void loss_row(const struct spmm_epilogue &f, bool there, int32_t row,
                                                int32_t label, int first, int lane, int32_t col,
                                                int32_t pitch, float (&u)[VECS][WIDE]) {
  const bool finished = there && is_finished(f, row);
  float max = -INFINITY, sum = 0, at_label = 0;
  bool has_label = false;
  if (there) epilogue_logits<T>(f, row, col, pitch, finished, u);
#pragma unroll
  for (int j = 0; j < VECS; j++) {
    const int32_t place = label - (col + j * pitch);
    const float here = element_of(u[j], place);
    at_label = (uint32_t)place < (uint32_t)WIDE ? here : at_label;
    has_label |= (uint32_t)place < (uint32_t)WIDE;
#pragma unroll
    for (int i = 0; i < WIDE; i++) max = fmaxf(max, u[j][i]);
  }
  max = over_lanes<LANES>(max, first, lane, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
  for (int j = 0; j < VECS; j++) {
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
      u[j][i] = exponential(u[j][i] - max);
      sum += u[j][i];
    }
  }
  sum = over_lanes<LANES>(sum, first, lane, [](float a, float b) { return a + b; });
  if (!finished) return;
  const float scale = f.loss.scale * (f.loss.grad_scale ? f.loss.grad_scale[row] : 1),
              share = __fdividef(scale, sum);
  write_gradient<T>(f, row, col, pitch, label >= 0, share, u);
  if (has_label) {
    *at<T>(f.loss.grad, row, label) = (T)(exponential(at_label - max) * share - scale);
    f.loss.of_row[row] = __logf(sum) + max - at_label;
  }
  if (label < 0 && lane == 0) f.loss.of_row[row] = 0;
}

#endif
