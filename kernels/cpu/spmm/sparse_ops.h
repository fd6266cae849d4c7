/* The products of kernels/ops/sparse.h on the processor. */
#ifndef KERNELS_CPU_SPMM_SPARSE_OPS_H
#define KERNELS_CPU_SPMM_SPARSE_OPS_H

#include "kernels/cpu/common/layout.h"

int REAL(cpu_spmm)(struct kernels *k, const struct spmm *op);
int REAL(cpu_sparse_dropout)(struct kernels *k, const struct sparse_dropout *op);

#endif
