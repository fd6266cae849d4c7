/* The ops of kernels/ops/elementwise.h on the GPU. */
#ifndef KERNELS_CUDA_ELEMENTWISE_ELEMENTWISE_OPS_H
#define KERNELS_CUDA_ELEMENTWISE_ELEMENTWISE_OPS_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/elementwise.h"

int cuda_gather(struct kernels *k, const struct gather *op);
int cuda_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
int cuda_epilogue(struct kernels *k, const struct epilogue *op);
int cuda_epilogue_backward(struct kernels *k, const struct epilogue_backward *op);
int cuda_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op);
int cuda_batch_norm_stats(struct kernels *k, const struct batch_norm_stats *op);
int cuda_column_sums(struct kernels *k, const struct column_sums *op);
int cuda_column_moments(struct kernels *k, const struct column_moments *op);
int cuda_add(struct kernels *k, const struct add *op, int count);
int cuda_dot(struct kernels *k, const struct dot *op);
int cuda_signs(struct kernels *k, const struct signs *op);
int cuda_put(struct kernels *k, const struct put *op);

#ifdef __cplusplus
}
#endif

#endif
