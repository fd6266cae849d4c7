/* cross_entropy of chosen rows, each for itself: what spmm leaves to a pass of its own. */
#ifndef KERNELS_CUDA_LOSS_H
#define KERNELS_CUDA_LOSS_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* op: as struct update has it; its logits are there. rows: [count] rows to work on, NULL: the first `count`;
 * of these, rows flagged in `unfinished` are left alone (NULL: none). Both on the device. */
int cuda_cross_entropy_rows(struct kernels *k, const struct loss_op *op, const int32_t *rows, int64_t count,
                            const uint8_t *unfinished);

#ifdef __cplusplus
}
#endif

#endif
