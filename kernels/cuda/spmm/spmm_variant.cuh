/* The kernels of spmm and when each is used. */
#ifndef KERNELS_CUDA_SPMM_SPMM_VARIANT_CUH
#define KERNELS_CUDA_SPMM_SPMM_VARIANT_CUH

#include "kernels/cuda/spmm/spmm_variant.h"

/* The entries that a shape is chosen for; kernels for others are not compiled. */
enum entries { ENTRIES_PLAIN, ENTRIES_WITH_FACTORS, ENTRIES_EITHER };

/* Losses end rows of few columns, in shapes that fit them; kernels for others are not compiled, nor for eight
 * vectors, which choose_whole_row has as well. */
template <class SHAPE> constexpr bool ENDS_LOSSES = SHAPE::PANEL <= DENSE_WHOLE_ROW &&SHAPE::PANEL != 8;

template <class SHAPE, enum entries FOR, bool FACTORS, enum row_epilogue EPILOGUE>
static constexpr auto kernel_for() -> void (*)(const struct sums, const struct spmm_epilogue) {
  constexpr bool has_entries = FOR == ENTRIES_EITHER || FACTORS == (FOR == ENTRIES_WITH_FACTORS);
  if constexpr (has_entries && (EPILOGUE != EPILOGUE_LOSS || ENDS_LOSSES<SHAPE>))
    return spmm_kernel<SHAPE, FACTORS, EPILOGUE>;
  else
    return nullptr;
}

/* The kernel may be NULL with EPILOGUE_LOSS alone. */
template <class SHAPE, enum entries FOR, enum row_epilogue EPILOGUE>
static struct variant variant_of(const struct task &task) {
  return {task.factors ? kernel_for<SHAPE, FOR, true, EPILOGUE>() : kernel_for<SHAPE, FOR, false, EPILOGUE>(),
          SHAPE::PANEL, SHAPE::THREADS, SHAPE::ROW_SEGMENTS, 0};
}

template <class SHAPE, enum row_epilogue EPILOGUE>
static struct variant whole_row_of(const struct task &task) {
  return {task.factors ? spmm_kernel<SHAPE, true, EPILOGUE> : spmm_kernel<SHAPE, false, EPILOGUE>,
          SHAPE::PANEL, SHAPE::THREADS, SHAPE::ROW_SEGMENTS, 0};
}

/* The whole row in one panel. */
template <class T, enum row_epilogue EPILOGUE>
static struct variant choose_whole_row(const struct task &task) {
#define USE(...) return whole_row_of<shape<T, __VA_ARGS__>, EPILOGUE>(task)
  if constexpr (EPILOGUE == EPILOGUE_NORM)
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
template <class T, enum row_epilogue EPILOGUE> static struct variant choose_panels(const struct task &task) {
  const int vectors = task.vectors;
  const bool dense = task.degree >= DENSE_DEGREE, denser = task.degree >= 2 * DENSE_DEGREE;
  const bool half_dense = 2 * task.degree >= DENSE_DEGREE;
  const bool sparse = task.degree < 32, light = sparse && !task.factors; /* factors take registers */
  const bool sparser = task.degree < 16, sparsest = task.degree < 8;
  constexpr bool FLOATS = sizeof(T) == sizeof(float);
#define USE(...) return variant_of<shape<T, __VA_ARGS__>, ENTRIES_EITHER, EPILOGUE>(task)
#define USE_PLAIN(...) return variant_of<shape<T, __VA_ARGS__>, ENTRIES_PLAIN, EPILOGUE>(task)
#define USE_WITH_FACTORS(...) return variant_of<shape<T, __VA_ARGS__>, ENTRIES_WITH_FACTORS, EPILOGUE>(task)
  if (vectors <= 4 && vectors > 2 && sparsest && light) USE_PLAIN(1, 4, 4, 128, 12);
  if (vectors <= 4 && vectors > 2 && task.degree < 14) USE(1, 4, 4, 256, 5);
  if (vectors <= 4) USE(1, 4, 8, 256, 4);
  if (vectors <= 5 && light) USE_PLAIN(1, 5, 4, 256, 5);
  if (vectors <= 6 && denser) USE(1, 6, 10, 256, 3);
  if (vectors <= 6 && half_dense) USE(1, 6, 8, 128, 8);
  if (vectors <= 6 && task.factors) USE_WITH_FACTORS(1, 6, 5, 128, 10);
  if (vectors <= 6) USE_PLAIN(1, 6, 4, 128, 12);
  if (vectors <= 8 && light) USE_PLAIN(1, 8, 4, 128, 12);
  if (vectors > 8 && vectors <= 10 && !dense) USE(1, 10, 4, 256, 5);
  if (vectors > 8 && vectors <= 12 && sparse) USE(2, 6, 4, 128, 8);
  if (vectors > 8 && vectors <= 12) USE(2, 6, 4, 256, 4);
  if (denser) USE(1, 8, 8, 512, 2);
  if (dense) USE(1, 8, 8, 128, 8);
  if (vectors > 22 && vectors <= 26 && light) USE_PLAIN(2, 13, 3, 256, 5);
  if (vectors > 22 && vectors <= 26) USE(2, 13, 4, 256, 4);
  if constexpr (FLOATS)
    if (vectors > 32 && sparsest && light) USE_PLAIN(2, 32, 2, 128, 12);
  if (vectors > 16 && sparsest && light) USE_PLAIN(2, 16, 2, 128, 10);
  if (vectors > 16 && sparsest) USE(2, 16, 2, 256, 5);
  if (vectors > 12 && sparsest && light) USE_PLAIN(2, 8, 4, 128, 8);
  if constexpr (FLOATS)
    if (vectors > 12 && light && !sparser) USE_PLAIN(1, 8, 6, 128, 10);
  if (vectors > 12 && light && !sparser) USE_PLAIN(1, 8, 4, 128, 12);
  if (vectors > 4 && task.few && !sparse && !dense) USE(1, 8, 8, 128, 8);
  if (vectors <= 8 || (vectors >= 16 && !sparse)) USE(1, 8, 8, 256, 4);
  if (task.factors) USE_WITH_FACTORS(1, 16, 4, 128, 10);
  USE_PLAIN(1, 16, 4, 128, 12);
#undef USE_WITH_FACTORS
#undef USE_PLAIN
#undef USE
}

/* Rows at any address: one kernel, whose factors are 1 where there are none. */
template <class T> static struct variant choose_any() {
  typedef shape<T, 1, 8, 8, 256, 4> any;
  return {spmm_kernel<any, true, EPILOGUE_ANY>, any::PANEL, any::THREADS, any::ROW_SEGMENTS, 0};
}

/* Rows that end in a loss or a norm: in one panel. */
template <class T> static struct variant choose_whole(const struct task &task) {
  if (task.epilogue == EPILOGUE_NORM) return choose_whole_row<T, EPILOGUE_NORM>(task);
  const struct variant variant = choose_panels<T, EPILOGUE_LOSS>(task);
  return variant.kernel && variant.panel >= task.vectors ? variant : choose_whole_row<T, EPILOGUE_LOSS>(task);
}

#endif
