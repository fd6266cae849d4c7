/* tma: matrices by bulk tensor copies (PTX ISA; compute capability 9.0), which move boxes of 64 columns of
 * bf16, or 32 of floats, to and from shared memory, 128 bytes a row and swizzled as wgmma reads bf16.
 * tma.cuh has the device's side. */
#ifndef KERNELS_CUDA_COMMON_TMA_H
#define KERNELS_CUDA_COMMON_TMA_H

#include <cuda.h>

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BOX_COLS = 64, BOX_ROW_BYTES = 128, MOST_BOX_ROWS = 256 };

/* Whether bulk copies can move t, and products read it as they leave it. */
static inline int cuda_is_boxed(struct tensor t) {
  return t.dtype == BF16 && cuda_is_aligned(t);
}

/* Whether bulk copies may write t, which they do 16 bytes at a time: the rest of the last 16 is t's own too.
 */
static inline int cuda_takes_boxes(struct tensor t) {
  return t.cols * dtype_bytes(t.dtype) % 16 == 0 || t.stride == tensor_stride(t.dtype, t.cols);
}

/* How copies see t (cuda_is_boxed, or floats that are cuda_is_aligned), in boxes of `rows` rows: what lies
 * outside of t reads as 0 and is not written (but see cuda_takes_boxes). Errors: FAILED, from the driver. */
int cuda_tma_map(struct tensor t, int rows, CUtensorMap *map);
/* The same of bf16 in boxes of `cols` columns, 16, 32 or 64: the chunks of 16 bytes of a box's rows, 2 cols
 * bytes each, are swizzled among these alone. */
int cuda_tma_map_columns(struct tensor t, int rows, int cols, CUtensorMap *map);

#ifdef __cplusplus
}
#endif

#endif
