/* The arrays of condensed windows or column vectors that are made on the GPU. */
#ifndef KERNELS_CUDA_LAYOUT_CONDENSED_ARRAYS_H
#define KERNELS_CUDA_LAYOUT_CONDENSED_ARRAYS_H

#include <stdint.h>

/* Where blocks and the rest go, on the device; bits are zeros before. first, value and rest_value: of
 * weighted matrices alone. */
struct condensed_arrays {
  int32_t *col;
  uint8_t *bits;
  int64_t *first;
  float *value;
  int32_t *rest_col;
  float *rest_value;
};

#endif
