/* host_device: marks inline functions that kernels on the GPU call too. */
#ifndef RUNTIME_BASE_HOST_DEVICE_H
#define RUNTIME_BASE_HOST_DEVICE_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#endif
