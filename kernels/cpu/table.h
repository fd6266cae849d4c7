/* The processor's tables, one for each element type. */
#ifndef KERNELS_CPU_TABLE_H
#define KERNELS_CPU_TABLE_H

#include "kernels/ops.h"

extern const struct kernel_ops cpu_ops_f32, cpu_ops_f64;

#endif
