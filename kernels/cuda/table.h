/* The GPU's tables: activations as float or as bf16, all else as float. */
#ifndef KERNELS_CUDA_TABLE_H
#define KERNELS_CUDA_TABLE_H

#include "kernels/ops.h"

extern const struct kernel_ops cuda_ops_f32, cuda_ops_bf16;

#endif
