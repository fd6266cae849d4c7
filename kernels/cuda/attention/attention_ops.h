/* The ops of kernels/ops/attention.h on the GPU. */
#ifndef KERNELS_CUDA_ATTENTION_ATTENTION_OPS_H
#define KERNELS_CUDA_ATTENTION_ATTENTION_OPS_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/ops/attention.h"

int64_t cuda_attention_workspace(const struct layout *a, int64_t width, int64_t heads);
int cuda_attention(struct kernels *k, const struct attention *op);
int cuda_attention_rows(struct kernels *k, const struct attention_rows *op);
int cuda_attention_backward(struct kernels *k, const struct attention_backward *op);
int cuda_attention_terms(struct kernels *k, const struct attention_terms *op);
int cuda_attention_terms_backward(struct kernels *k, const struct attention_terms_backward *op);
int cuda_dynamic_rows(struct kernels *k, const struct dynamic_rows *op);
int cuda_dynamic_backward(struct kernels *k, const struct dynamic_backward *op);
int cuda_cosine_rows(struct kernels *k, const struct cosine_rows *op);
int cuda_cosine_attention(struct kernels *k, const struct cosine_attention *op);
int cuda_cosine_backward(struct kernels *k, const struct cosine_backward *op);
int cuda_cosine_epilogue(struct kernels *k, const struct cosine_epilogue *op);
int cuda_sddmm(struct kernels *k, const struct sddmm *op);

#ifdef __cplusplus
}
#endif

#endif
