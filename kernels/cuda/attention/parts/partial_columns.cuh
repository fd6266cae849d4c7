/* Columns of a sum where it is kept between two kernels of attention. */
#ifndef KERNELS_CUDA_ATTENTION_PARTS_PARTIAL_COLUMNS_CUH
#define KERNELS_CUDA_ATTENTION_PARTS_PARTIAL_COLUMNS_CUH

#include <cstdint>

static inline __host__ __device__ int64_t partial_columns(int64_t width) {
  return (width + 7) / 8 * 8;
}

#endif
