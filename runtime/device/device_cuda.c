#include "runtime/device/device_cuda.h"

#include "runtime/base/error.h"

int device_cuda_check(cudaError_t result, const char *what) {
  if (result == cudaSuccess) return OK;
  FAIL(FAILED, "CUDA: %s (%s) in %.60s", cudaGetErrorString(result), cudaGetErrorName(result), what);
}

cudaStream_t device_cuda_stream(const struct device *device, enum stream stream) {
  return ((const struct device_cuda *)device->impl)->stream[stream];
}

int device_cuda_bus(const struct device *device, char *text) {
  TRY_CUDA(cudaDeviceGetPCIBusId(text, 32, device->index));
  return OK;
}

int device_cuda_adopt(struct device *device) {
  TRY_CUDA(cudaSetDevice(device->index));
  return OK;
}
