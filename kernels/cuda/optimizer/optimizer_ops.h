/* The ops of kernels/ops/optimizer.h on the GPU. */
#ifndef KERNELS_CUDA_OPTIMIZER_OPTIMIZER_OPS_H
#define KERNELS_CUDA_OPTIMIZER_OPTIMIZER_OPS_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/optimizer.h"

int cuda_advance(struct kernels *k, const double *rate, int64_t rates);
int cuda_sum_squares(struct kernels *k, const void *x, int64_t count);
int cuda_optimizer(struct kernels *k, const struct optimizer_op *op);

#ifdef __cplusplus
}
#endif

#endif
