/* The processor as a device: host memory, streams that have always finished. */
#ifndef RUNTIME_DEVICE_DEVICE_CPU_H
#define RUNTIME_DEVICE_DEVICE_CPU_H

#include "runtime/device/device.h"

extern const struct device_ops device_cpu_ops;

#endif
