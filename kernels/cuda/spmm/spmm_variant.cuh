/* The kernels of spmm and when each is used. */
#ifndef KERNELS_CUDA_SPMM_SPMM_VARIANT_CUH
#define KERNELS_CUDA_SPMM_SPMM_VARIANT_CUH

#include "kernels/cuda/spmm/spmm_variant.h"

template <class SHAPE> static struct variant variant_of(const struct task &task) {
  static constexpr void (*kernel[END_NORM][2])(const struct sums, const struct finish) = {
      {spmm_kernel<SHAPE, false, END_PLAIN>, spmm_kernel<SHAPE, true, END_PLAIN>},
      {spmm_kernel<SHAPE, false, END_SUM>, spmm_kernel<SHAPE, true, END_SUM>},
      {spmm_kernel<SHAPE, false, END_PLAIN_UPDATE>, spmm_kernel<SHAPE, true, END_PLAIN_UPDATE>},
      {spmm_kernel<SHAPE, false, END_UPDATE>, spmm_kernel<SHAPE, true, END_UPDATE>},
      {spmm_kernel<SHAPE, false, END_LOSS>, spmm_kernel<SHAPE, true, END_LOSS>}};
  return {kernel[task.end][task.factors], SHAPE::PANEL, SHAPE::THREADS, SHAPE::SLOTS, 0};
}

template <class SHAPE> static struct variant whole_row_of(const struct task &task) {
  static constexpr void (*kernel[2][2])(const struct sums, const struct finish) = {
      {spmm_kernel<SHAPE, false, END_LOSS>, spmm_kernel<SHAPE, true, END_LOSS>},
      {spmm_kernel<SHAPE, false, END_NORM>, spmm_kernel<SHAPE, true, END_NORM>}};
  return {kernel[task.end == END_NORM][task.factors], SHAPE::PANEL, SHAPE::THREADS, SHAPE::SLOTS, 0};
}

/* The whole row in one panel. */
template <class T> static struct variant choose_whole_row(const struct task &task) {
#define USE(...) return whole_row_of<shape<T, __VA_ARGS__>>(task)
  if (task.vectors <= 2) USE(1, 2, 8, 256, 4);
  if (task.vectors <= 4) USE(1, 4, 8, 256, 4);
  if (task.vectors <= 8) USE(1, 8, 8, 256, 4);
  if (task.vectors <= 16) USE(1, 16, 4, 256, 5);
  USE(2, 16, 4, 256, 4);
#undef USE
}

/* What was fastest on an H200 over graphs of mean degree 2 to 500, by the bytes of a row of X alike for both
 * types: vectors in a row of X, lanes, entries under way, threads, blocks on a multiprocessor. Lanes that fit
 * the row bring more than their number being a power of two; for sparse rows many small blocks, for dense
 * ones panels of 128 bytes. */
template <class T> static struct variant choose_panels(const struct task &task) {
  const int vectors = task.vectors;
  const bool dense = task.degree >= DENSE_DEGREE, denser = task.degree >= 2 * DENSE_DEGREE;
  const bool sparse = task.degree < 32, light = sparse && !task.factors; /* factors take registers */
  const bool sparser = task.degree < 16, sparsest = task.degree < 8, floats = sizeof(T) == sizeof(float);
#define USE(...) return variant_of<shape<T, __VA_ARGS__>>(task)
  if (vectors <= 4 && vectors > 2 && sparsest && light) USE(1, 4, 4, 128, 12);
  if (vectors <= 4 && vectors > 2 && task.degree < 14) USE(1, 4, 4, 256, 5);
  if (vectors <= 4) USE(1, 4, 8, 256, 4);
  if (vectors <= 5 && light) USE(1, 5, 4, 256, 5);
  if (vectors <= 6 && denser) USE(1, 6, 10, 256, 3);
  if (vectors <= 6 && dense) USE(1, 6, 8, 128, 8);
  if (vectors <= 6 && task.factors) USE(1, 6, 5, 128, 10);
  if (vectors <= 6) USE(1, 6, 4, 128, 12);
  if (vectors <= 8 && light) USE(1, 8, 4, 128, 12);
  if (vectors > 8 && vectors <= 10 && !dense) USE(1, 10, 4, 256, 5);
  if (vectors > 8 && vectors <= 12 && sparse) USE(2, 6, 4, 128, 8);
  if (vectors > 8 && vectors <= 12) USE(2, 6, 4, 256, 4);
  if (denser) USE(1, 8, 8, 512, 2);
  if (dense) USE(1, 8, 8, 128, 8);
  if (vectors > 22 && vectors <= 26 && light) USE(2, 13, 3, 256, 5);
  if (vectors > 22 && vectors <= 26) USE(2, 13, 4, 256, 4);
  if (vectors > 32 && sparsest && light && floats) USE(2, 32, 2, 128, 12);
  if (vectors > 16 && sparsest && light) USE(2, 16, 2, 128, 10);
  if (vectors > 16 && sparsest) USE(2, 16, 2, 256, 5);
  if (vectors > 12 && sparsest && light) USE(2, 8, 4, 128, 8);
  if (vectors > 12 && light && !sparser && floats) USE(1, 8, 6, 128, 10);
  if (vectors > 12 && light && !sparser) USE(1, 8, 4, 128, 12);
  if (vectors > 4 && task.few && !sparse && !dense) USE(1, 8, 8, 128, 8);
  if (vectors <= 8 || (vectors >= 16 && !sparse)) USE(1, 8, 8, 256, 4);
  if (task.factors) USE(1, 16, 4, 128, 10);
  USE(1, 16, 4, 128, 12);
#undef USE
}

template <class T> static struct variant choose(const struct task &task) {
  if (task.end == END_NORM) return choose_whole_row<T>(task);
  const struct variant variant = choose_panels<T>(task);
  return task.end == END_LOSS && variant.panel < task.vectors ? choose_whole_row<T>(task) : variant;
}

#endif
