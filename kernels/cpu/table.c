#include "kernels/cpu/common/cpu.h"

const struct kernel_ops REAL(cpu_ops) = {
    .device = "cpu",
    .dtype = REAL_DTYPE,
    .real = REAL_DTYPE,
    .precisions = REAL_PRECISIONS,
    .open = REAL(cpu_open),
    .attention = &REAL(cpu_attention_ops),
    .elementwise = &REAL(cpu_elementwise_ops),
    .gemm = &REAL(cpu_gemm_ops),
    .incidence = &REAL(cpu_incidence_ops),
    .loss = &REAL(cpu_loss_ops),
    .optimizer = &REAL(cpu_optimizer_ops),
    .reduce = &REAL(cpu_reduce_ops),
    .sparse = &REAL(cpu_sparse_ops),
};
