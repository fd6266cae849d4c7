/* The transport for GPU buffers: NCCL on the device's exchange and compute streams. */
#ifndef RUNTIME_COMM_COMM_NCCL_H
#define RUNTIME_COMM_COMM_NCCL_H

#include "runtime/comm/comm.h"

extern const struct comm_ops comm_nccl_ops;

#endif
