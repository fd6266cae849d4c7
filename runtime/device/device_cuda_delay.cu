/* A stream that stands still: one thread watches the GPU's clock. */
#include <cuda_runtime.h>

#include <stdint.h>

extern "C" {
#include "runtime/base/error.h"
#include "runtime/device/device_cuda.h"
}

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
