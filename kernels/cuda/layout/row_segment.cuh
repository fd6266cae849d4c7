/* A slot of the layout, as kernels read it. */
#ifndef KERNELS_CUDA_LAYOUT_ROW_SEGMENT_CUH
#define KERNELS_CUDA_LAYOUT_ROW_SEGMENT_CUH

#include "kernels/format/row_segments.h"

static __device__ __forceinline__ struct slot read_slot(const struct packed_slots &slots, int64_t at) {
  return slot_of(__ldg(slots.first + at), __ldg(slots.extent + at), __ldg(slots.target + at));
}

#endif
