#include "kernels/cpu/table.h"

#include "kernels/cpu/cpu.h"

const struct kernel_ops REAL(cpu_ops) = {
    .device = "cpu",
    .dtype = REAL_DTYPE,
    .real = REAL_DTYPE,
    .precisions = REAL_PRECISIONS,
    .layout_init = REAL(cpu_layout_init),
    .layout_share = REAL(cpu_layout_share),
    .layout_free = REAL(cpu_layout_free),
    .spmm = REAL(cpu_spmm),
    .gemm = REAL(cpu_gemm),
    .gather = REAL(cpu_gather),
    .dropout = REAL(cpu_dropout),
    .sparse_dropout = REAL(cpu_sparse_dropout),
    .update = REAL(cpu_update),
    .update_backward = REAL(cpu_update_backward),
    .batch_norm_backward = REAL(cpu_batch_norm_backward),
    .batch_norm_stats = REAL(cpu_batch_norm_stats),
    .column_sums = REAL(cpu_column_sums),
    .cross_entropy = REAL(cpu_cross_entropy),
    .bce = REAL(cpu_bce),
    .accuracy = REAL(cpu_accuracy),
    .micro_f1 = REAL(cpu_micro_f1),
    .advance = REAL(cpu_advance),
    .sum_squares = REAL(cpu_sum_squares),
    .optimizer = REAL(cpu_optimizer),
};
