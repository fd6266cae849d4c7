/* A row segment of the layout, as kernels read it. */
#ifndef KERNELS_CUDA_LAYOUT_ROW_SEGMENT_CUH
#define KERNELS_CUDA_LAYOUT_ROW_SEGMENT_CUH

#include "kernels/format/row_segments.h"

static __device__ __forceinline__ struct row_segment
read_row_segment(const struct packed_row_segments &row_segments, int64_t at) {
  return row_segment_of(__ldg(row_segments.first + at), __ldg(row_segments.extent + at),
                        __ldg(row_segments.target + at));
}

#endif
