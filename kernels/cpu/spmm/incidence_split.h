/* Sums over hyperedges by blocks of vertices (kernels/format/edge_split.h) on the processor. */
#ifndef KERNELS_CPU_SPMM_INCIDENCE_SPLIT_H
#define KERNELS_CPU_SPMM_INCIDENCE_SPLIT_H

#include "kernels/cpu/common/cpu.h"
#include "kernels/ops/incidence.h"

/* Whether op is summed so. */
int REAL(cpu_is_split)(const struct incidence_sum *op);
int64_t REAL(cpu_split_workspace)(const struct kernels *k, const struct incidence_sum *op);
int REAL(cpu_split_sum)(struct kernels *k, const struct incidence_sum *op);

#endif
