/* An NVIDIA GPU as a device: one a rank. Pointers are device memory; work is queued on two streams. */
#ifndef RUNTIME_DEVICE_DEVICE_CUDA_H
#define RUNTIME_DEVICE_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "runtime/device/device.h"

/* What a device keeps of its GPU. */
struct device_cuda {
  cudaStream_t stream[STREAMS];
  cudaEvent_t event[EVENTS], mark[MARKS];
  char bus[32];
  int64_t used_before; /* bytes taken on the GPU before this process made its context */
  int64_t peak;
};

/* The stream behind `stream`, for kernels and for transports. */
cudaStream_t device_cuda_stream(const struct device *device, enum stream stream);

/* Makes it the calling thread's GPU. */
int device_cuda_adopt(struct device *device);

/* The GPU's PCI bus id, the same for all ranks that share it. text[32]. */
int device_cuda_bus(const struct device *device, char *text);

/* Time stamps on its streams and ranges in NVIDIA's tools, for the profile (device_cuda_profile.c). */
int device_cuda_profile(struct device *device, struct profile_device *profile);

/* The table's delay and post (device_cuda_kernels.cu). */
int device_cuda_delay(struct device *device, enum stream stream, double seconds);
int device_cuda_post(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes);

/* The table's share (device_cuda_share.c). */
extern const struct device_share_ops device_cuda_share;

int device_cuda_check(cudaError_t result, const char *what);

/* Returns upward when a call of the CUDA runtime failed, in its words. */
#define TRY_CUDA(call) TRY(device_cuda_check((call), #call))

#endif
