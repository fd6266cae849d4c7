#include "kernels/cpu/loss/loss_ops.h"

const struct loss_ops REAL(cpu_loss_ops) = {
    .cross_entropy = REAL(cpu_cross_entropy),
    .bce = REAL(cpu_bce),
    .sum_losses = REAL(cpu_sum_losses),
    .accuracy = REAL(cpu_accuracy),
    .micro_f1 = REAL(cpu_micro_f1),
};
