#include "runtime/device/device_cuda.h"

#include <nvtx3/nvToolsExt.h>

#include "runtime/base/base.h"
#include "runtime/profile/profile_device.h"

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

/* A stamp is an event that keeps the time. Events are pooled: a steady epoch makes none. NVTX's ranges cost a
 * few nanoseconds where no tool listens, so they are there in every run. */

struct timeline {
  const struct device *device;
  cudaEvent_t *idle; /* room for all that were made */
  int64_t idles, made, room;
};

static int make_event(struct timeline *timeline) {
  if (timeline->made == timeline->room) {
    int64_t room = timeline->room ? 2 * timeline->room : 256;
    cudaEvent_t *larger = realloc(timeline->idle, (size_t)room * sizeof(cudaEvent_t));
    if (!larger) return -1;
    timeline->idle = larger;
    timeline->room = room;
  }
  if (cudaEventCreate(&timeline->idle[timeline->idles]) != cudaSuccess) return -1;
  timeline->idles++;
  timeline->made++;
  return 0;
}

static int stamp(void *context, int stream, void **of) {
  struct timeline *timeline = context;
  if (timeline->idles == 0 && make_event(timeline) != 0) return -1;
  cudaEvent_t event = timeline->idle[timeline->idles - 1];
  if (cudaEventRecord(event, device_cuda_stream(timeline->device, (enum stream)stream)) != cudaSuccess)
    return -1;
  timeline->idles--;
  *of = event;
  return 0;
}

static int seconds_between(void *context, void *from, void *to, double *seconds, int *ready) {
  (void)context;
  float ms = 0;
  cudaError_t result = cudaEventElapsedTime(&ms, from, to);
  *ready = result == cudaSuccess;
  *seconds = 1e-3 * (double)ms;
  if (result == cudaErrorNotReady) (void)cudaGetLastError(); /* no error to the next launch's check */
  return *ready || result == cudaErrorNotReady ? 0 : -1;
}

static void release(void *context, void *of) {
  struct timeline *timeline = context;
  timeline->idle[timeline->idles++] = of;
}

static void close_timeline(void *context) {
  struct timeline *timeline = context;
  for (int64_t i = 0; i < timeline->idles; i++) cudaEventDestroy(timeline->idle[i]);
  free_all(timeline->idle, timeline);
}

static void push(const char *name) {
  nvtxRangePushA(name);
}

static void pop(void) {
  nvtxRangePop();
}

int device_cuda_profile(struct device *device, struct profile_device *profile) {
  struct timeline *timeline = NULL;
  TRY(memory_arrays("a profile", ROOM(&timeline, 1)));
  timeline->device = device;
  *profile = (struct profile_device){timeline, stamp, seconds_between, release, close_timeline, push, pop};
  return OK;
}
