#include "runtime/device/device.h"

#include <assert.h>

#include "runtime/base/error.h"
#include "runtime/profile/profile_device.h"

int device_adopt(struct device *device) {
  const struct device_ops *ops = device->ops;
  if (ops->adopt) TRY(ops->adopt(device));
  if (!ops->profile) return OK;
  struct profile_device profile = {0};
  TRY(ops->profile(device, &profile));
  profile_attach(&profile);
  device->profile = profile.context;
  return OK;
}

void device_close(struct device *device) {
  if (device->profile) profile_detach(device->profile);
  if (device->ops) device->ops->close(device);
  *device = (struct device){0};
}

int device_alloc(struct device *device, int64_t bytes, void **pointer, const char *what) {
  device->allocations++;
  return device->ops->memory.alloc(device, bytes, pointer, what);
}

void device_release(struct device *device, void *pointer) {
  if (pointer) device->ops->memory.release(device, pointer);
}

int device_synchronize(struct device *device, enum stream stream) {
  TRY(device->ops->stream.synchronize(device, stream));
  profile_resolve();
  return OK;
}

int device_post(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes) {
  const struct device_memory_ops *memory = &device->ops->memory;
  return (memory->post ? memory->post : memory->download)(device, stream, to, from, bytes);
}

void device_host_release(struct device *device, void *pointer) {
  if (pointer) device->ops->memory.host_release(device, pointer);
}

int device_mark(struct device *device, int mark, enum stream stream) {
  assert(mark >= 0 && mark < MARKS);
  return device->ops->stream.mark(device, mark, stream);
}

int device_reach(struct device *device, int mark) {
  TRY(device->ops->stream.reach(device, mark));
  profile_resolve();
  return OK;
}

void device_graph_free(struct device *device, struct device_graph *graph) {
  if (graph) device->ops->stream.graph_free(device, graph);
}
