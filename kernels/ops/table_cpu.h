/* The processor's tables, one for each element type. */
#ifndef KERNELS_OPS_TABLE_CPU_H
#define KERNELS_OPS_TABLE_CPU_H

#include "kernels/ops/ops.h"

extern const struct kernel_ops cpu_ops_f32, cpu_ops_f64;

#endif
