/* The ops of kernels/ops/loss.h on the processor. */
#ifndef KERNELS_CPU_LOSS_LOSS_OPS_H
#define KERNELS_CPU_LOSS_LOSS_OPS_H

#include "kernels/cpu/common/cpu.h"
#include "kernels/ops/loss.h"

int REAL(cpu_cross_entropy)(struct kernels *k, const struct loss_op *op);
int REAL(cpu_bce)(struct kernels *k, const struct loss_op *op);
int REAL(cpu_sum_losses)(struct kernels *k, const struct loss_op *op);
int REAL(cpu_accuracy)(struct kernels *k, const struct score *op);
int REAL(cpu_micro_f1)(struct kernels *k, const struct score *op);

#endif
