/* Memory of one process's GPU that another one's reads and writes: over NVLink, or PCIe where the GPUs may.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device_cuda.h"

/* What NCCL is told on machines whose GPUs do not reach each other as they say. */
static int is_forbidden(void) {
  const char *disabled = getenv("NCCL_P2P_DISABLE");
  return disabled && atoi(disabled) != 0;
}

static int could(cudaError_t result) {
  if (result != cudaSuccess) (void)cudaGetLastError(); /* or it would be taken for a failed launch later */
  return result == cudaSuccess;
}

static int give(struct device *device, void *block, struct device_handle *handle) {
  cudaIpcMemHandle_t given;
  (void)device;
  _Static_assert(sizeof given <= sizeof handle->bytes, "a handle holds one of CUDA's");
  if (is_forbidden() || !could(cudaIpcGetMemHandle(&given, block))) return 0;
  memcpy(handle->bytes, &given, sizeof given);
  return 1;
}

static int take(struct device *device, const struct device_handle *handle, void **at) {
  cudaIpcMemHandle_t given;
  (void)device;
  memcpy(&given, handle->bytes, sizeof given);
  return could(cudaIpcOpenMemHandle(at, given, cudaIpcMemLazyEnablePeerAccess));
}

static void leave(struct device *device, void *at) {
  (void)device;
  (void)could(cudaIpcCloseMemHandle(at));
}

const struct device_share_ops device_cuda_share = {give, take, leave};
