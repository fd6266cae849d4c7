/* The GPU's tables: activations as float or as bf16, all else as float. */
#ifndef KERNELS_OPS_TABLE_CUDA_H
#define KERNELS_OPS_TABLE_CUDA_H

#include "kernels/ops/ops.h"

extern const struct kernel_ops cuda_ops_f32, cuda_ops_bf16;

#endif
