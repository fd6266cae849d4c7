#include "kernels/cuda/loss/loss_ops.h"

const struct loss_ops cuda_loss_ops = {
    .cross_entropy = cuda_cross_entropy,
    .bce = cuda_bce,
    .sum_losses = cuda_sum_losses,
    .accuracy = cuda_accuracy,
    .micro_f1 = cuda_micro_f1,
};
