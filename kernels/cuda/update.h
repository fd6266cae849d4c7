/* update on chosen rows: what spmm leaves to a pass of its own. */
#ifndef KERNELS_CUDA_UPDATE_H
#define KERNELS_CUDA_UPDATE_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rows: [count] rows to work on, NULL: the first `count`; of these, rows flagged in `unfinished` are left
 * alone (NULL: none). Both on the device. */
int cuda_update_rows(struct kernels *k, const struct update *op, const int32_t *rows, int64_t count,
                     const uint8_t *unfinished);

#ifdef __cplusplus
}
#endif

#endif
