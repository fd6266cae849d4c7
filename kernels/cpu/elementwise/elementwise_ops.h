/* The ops of kernels/ops/elementwise.h on the processor. */
#ifndef KERNELS_CPU_ELEMENTWISE_ELEMENTWISE_OPS_H
#define KERNELS_CPU_ELEMENTWISE_ELEMENTWISE_OPS_H

#include "kernels/cpu/common/cpu.h"
#include "kernels/ops/elementwise.h"

int REAL(cpu_gather)(struct kernels *k, const struct gather *op);
int REAL(cpu_dropout)(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
int REAL(cpu_epilogue)(struct kernels *k, const struct epilogue *op);
int REAL(cpu_epilogue_backward)(struct kernels *k, const struct epilogue_backward *op);
int REAL(cpu_batch_norm_backward)(struct kernels *k, const struct batch_norm_backward *op);
int REAL(cpu_batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op);
int REAL(cpu_column_sums)(struct kernels *k, const struct column_sums *op);
int REAL(cpu_column_moments)(struct kernels *k, const struct column_moments *op);
int REAL(cpu_add)(struct kernels *k, const struct add *op, int count);
int REAL(cpu_dot)(struct kernels *k, const struct dot *op);
int REAL(cpu_signs)(struct kernels *k, const struct signs *op);

#endif
