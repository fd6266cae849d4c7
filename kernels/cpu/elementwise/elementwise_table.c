#include "kernels/cpu/elementwise/elementwise_ops.h"

const struct elementwise_ops REAL(cpu_elementwise_ops) = {
    .gather = REAL(cpu_gather),
    .dropout = REAL(cpu_dropout),
    .epilogue = REAL(cpu_epilogue),
    .epilogue_backward = REAL(cpu_epilogue_backward),
    .batch_norm_backward = REAL(cpu_batch_norm_backward),
    .batch_norm_stats = REAL(cpu_batch_norm_stats),
    .column_sums = REAL(cpu_column_sums),
    .column_moments = REAL(cpu_column_moments),
    .add = REAL(cpu_add),
    .dot = REAL(cpu_dot),
    .signs = REAL(cpu_signs),
};
