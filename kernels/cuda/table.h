/* The GPU's table. */
#ifndef KERNELS_CUDA_TABLE_H
#define KERNELS_CUDA_TABLE_H

#include "kernels/ops.h"

extern const struct kernel_ops cuda_ops_f32;

#endif
