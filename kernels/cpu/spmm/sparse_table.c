#include "kernels/cpu/spmm/sparse_ops.h"

#include "kernels/cpu/common/cpu.h"

const struct sparse_ops REAL(cpu_sparse_ops) = {
    .layout_init = REAL(cpu_layout_init),
    .layout_share = REAL(cpu_layout_share),
    .layout_free = REAL(cpu_layout_free),
    .spmm = REAL(cpu_spmm),
    .sparse_dropout = REAL(cpu_sparse_dropout),
};
