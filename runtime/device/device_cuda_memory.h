/* How much of a GPU's memory is taken, by anyone, as the driver's management library counts it: unlike
 * cudaMemGetInfo it can be asked before there is a CUDA context, whose size belongs to the run. */
#ifndef RUNTIME_DEVICE_DEVICE_CUDA_MEMORY_H
#define RUNTIME_DEVICE_DEVICE_CUDA_MEMORY_H

#include <stdint.h>

/* Bytes taken on the GPU with that PCI bus id; 0 where the library is not there. */
int64_t device_cuda_used(const char *bus);

#endif
