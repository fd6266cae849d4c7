/* The CPU's kernels, for REAL; also the readable reference for every other device. */
#ifndef KERNELS_CPU_CPU_H
#define KERNELS_CPU_CPU_H

#include "kernels/cpu/real.h"
#include "kernels/ops.h"

int REAL(cpu_gather)(struct kernels *k, struct tensor x, const int32_t *rows, struct tensor y);
int REAL(cpu_batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op);

#endif
