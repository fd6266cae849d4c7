/* What the two losses share: a walk over the rows of the logits in which the listed rows (ascending) have a
 * loss and a gradient, and the others the gradient 0. */
#ifndef KERNELS_CPU_LOSS_LOSS_ROWS_H
#define KERNELS_CPU_LOSS_LOSS_ROWS_H

#include "kernels/cpu/loss/loss_ops.h"

/* Loss of row v before op->scale; writes its gradient to `grad` unless that is NULL (it may be the logits).
 */
typedef double row_loss(const struct loss_op *op, int64_t v, real *grad);

/* *op->loss and op->grad. Errors: FAILED when memory is short. */
int REAL(cpu_loss_rows)(struct kernels *k, const struct loss_op *op, row_loss *loss);

#endif
