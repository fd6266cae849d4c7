#include "runtime/device/device_cuda_memory.h"

#include <dlfcn.h>
#include <stddef.h>

/* The part of the library's interface that is used. It comes with the driver, not with the toolkit: a program
 * linked against it would not start on a machine without a GPU. */
struct nvml_memory {
  unsigned long long total, free, used;
};
static struct {
  int tried, ready;
  int (*init)(void);
  int (*handle)(const char *bus, void **device);
  int (*memory)(void *device, struct nvml_memory *memory);
} nvml;

static void open_library(void) {
  nvml.tried = 1;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  *(void **)&nvml.init = dlsym(library, "nvmlInit_v2");
  *(void **)&nvml.handle = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void **)&nvml.memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
  nvml.ready = nvml.init && nvml.handle && nvml.memory && nvml.init() == 0;
}

int64_t device_cuda_used(const char *bus) {
  void *device = NULL;
  struct nvml_memory memory = {0};
  if (!nvml.tried) open_library();
  if (!nvml.ready || nvml.handle(bus, &device) != 0) return 0;
  return nvml.memory(device, &memory) == 0 ? (int64_t)memory.used : 0;
}
