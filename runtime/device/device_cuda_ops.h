/* device_cuda_ops: the table of a GPU. */
#ifndef RUNTIME_DEVICE_DEVICE_CUDA_OPS_H
#define RUNTIME_DEVICE_DEVICE_CUDA_OPS_H

#include "runtime/device/device.h"

extern const struct device_ops device_cuda_ops;

#endif
