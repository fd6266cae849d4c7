/* The ops of kernels/ops/sparse.h, reduce.h and incidence.h on the GPU. */
#ifndef KERNELS_CUDA_SPMM_SPMM_OPS_H
#define KERNELS_CUDA_SPMM_SPMM_OPS_H

#include "kernels/cuda/layout/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/incidence.h"
#include "kernels/ops/reduce.h"

int cuda_spmm(struct kernels *k, const struct spmm *op);
int64_t cuda_spmm_workspace(const struct spmm *op);
int cuda_spmm_divides(const struct spmm *op);
int cuda_sparse_dropout(struct kernels *k, const struct sparse_dropout *op);
int cuda_reduce(struct kernels *k, const struct reduce *op);
int cuda_reduce_backward(struct kernels *k, const struct reduce_backward *op);
int64_t cuda_incidence_workspace(const struct kernels *k, const struct incidence_sum *op);
int cuda_incidence_sum(struct kernels *k, const struct incidence_sum *op);
/* Of INCIDENCE_SPLIT: whether op is summed so; rows: how its rows end, without a layout. */
int cuda_is_split(const struct kernels *k, const struct incidence_sum *op);
int cuda_split_sum(struct kernels *k, const struct incidence_sum *op, const struct spmm *rows);
int cuda_incidence_weights(struct kernels *k, const struct incidence_weights *op);
int cuda_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op);

#ifdef __cplusplus
}
#endif

#endif
