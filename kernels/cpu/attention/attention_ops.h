/* The ops of kernels/ops/attention.h on the processor. */
#ifndef KERNELS_CPU_ATTENTION_ATTENTION_OPS_H
#define KERNELS_CPU_ATTENTION_ATTENTION_OPS_H

#include "kernels/cpu/common/cpu.h"
#include "kernels/ops/attention.h"

int REAL(cpu_attention)(struct kernels *k, const struct attention *op);
int REAL(cpu_attention_rows)(struct kernels *k, const struct attention_rows *op);
int REAL(cpu_attention_backward)(struct kernels *k, const struct attention_backward *op);
int REAL(cpu_attention_terms)(struct kernels *k, const struct attention_terms *op);
int REAL(cpu_attention_terms_backward)(struct kernels *k, const struct attention_terms_backward *op);
int REAL(cpu_dynamic_rows)(struct kernels *k, const struct dynamic_rows *op);
int REAL(cpu_dynamic_backward)(struct kernels *k, const struct dynamic_backward *op);
int REAL(cpu_cosine_rows)(struct kernels *k, const struct cosine_rows *op);
int REAL(cpu_cosine_attention)(struct kernels *k, const struct cosine_attention *op);
int REAL(cpu_cosine_backward)(struct kernels *k, const struct cosine_backward *op);
int REAL(cpu_cosine_epilogue)(struct kernels *k, const struct cosine_epilogue *op);
int REAL(cpu_sddmm)(struct kernels *k, const struct sddmm *op);

#endif
