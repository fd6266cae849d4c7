/* The ops of kernels/ops/loss.h on the GPU. */
#ifndef KERNELS_CUDA_LOSS_LOSS_OPS_H
#define KERNELS_CUDA_LOSS_LOSS_OPS_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/loss.h"

int cuda_cross_entropy(struct kernels *k, const struct loss_op *op);
int cuda_bce(struct kernels *k, const struct loss_op *op);
int cuda_sum_losses(struct kernels *k, const struct loss_op *op);
int cuda_accuracy(struct kernels *k, const struct score *op);
int cuda_micro_f1(struct kernels *k, const struct score *op);

#ifdef __cplusplus
}
#endif

#endif
