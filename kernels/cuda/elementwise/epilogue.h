/* epilogue and cross_entropy on chosen rows: what spmm leaves to passes of their own. */
#ifndef KERNELS_CUDA_ELEMENTWISE_EPILOGUE_H
#define KERNELS_CUDA_ELEMENTWISE_EPILOGUE_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rows: [count] rows to work on, NULL: the first `count`; of these, rows flagged in `has_halo` are left
 * alone (NULL: none). Both on the device. */
int cuda_epilogue_rows(struct kernels *k, const struct epilogue *op, const int32_t *rows, int64_t count,
                       const uint8_t *has_halo);
/* op: as struct epilogue has it; its logits are there. Leaves each row's loss. */
int cuda_cross_entropy_rows(struct kernels *k, const struct loss_op *op, const int32_t *rows, int64_t count,
                            const uint8_t *has_halo);

#ifdef __cplusplus
}
#endif

#endif
