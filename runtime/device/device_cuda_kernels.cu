/* What of the device's table a kernel does. */
#include <cuda_runtime.h>

#include <stdint.h>

extern "C" {
#include "runtime/base/error.h"
#include "runtime/device/device_cuda.h"
}

/* A stream that stands still: one thread watches the GPU's clock. */
static __global__ void stand_still(uint64_t nanoseconds) {
  uint64_t begun, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begun < nanoseconds);
}

extern "C" int device_cuda_delay(struct device *device, enum stream stream, double seconds) {
  stand_still<<<1, 1, 0, device_cuda_stream(device, stream)>>>((uint64_t)(1e9 * seconds));
  TRY_CUDA(cudaGetLastError());
  return OK;
}

constexpr int THREADS = 128;

template <class T> static __global__ void post_kernel(T *to, const T *from, int64_t count) {
  for (int64_t i = threadIdx.x; i < count; i += THREADS) to[i] = from[i];
}

template <class T>
static void launch_post(struct device *device, enum stream stream, void *to, const void *from,
                        int64_t bytes) {
  post_kernel<T><<<1, THREADS, 0, device_cuda_stream(device, stream)>>>((T *)to, (const T *)from,
                                                                        bytes / (int64_t)sizeof(T));
}

/* Into the host's memory, in words where all is made of words. */
extern "C" int device_cuda_post(struct device *device, enum stream stream, void *to, const void *from,
                                int64_t bytes) {
  const bool words = ((uintptr_t)to | (uintptr_t)from | (uintptr_t)bytes) % sizeof(uint64_t) == 0;
  if (bytes == 0) return OK;
  (words ? launch_post<uint64_t> : launch_post<uint8_t>)(device, stream, to, from, bytes);
  TRY_CUDA(cudaGetLastError());
  return OK;
}
