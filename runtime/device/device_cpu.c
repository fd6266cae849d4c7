#include "runtime/device/device.h"

#include <omp.h>

#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static int cpu_available(void) {
  return 1;
}

/* The "model name" line of /proc/cpuinfo, where there is one. */
static void processor_name(char *name, size_t size) {
  snprintf(name, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    colon[strcspn(colon, "\n")] = '\0';
    snprintf(name, size, "%s", colon + 2);
    break;
  }
  fclose(file);
}

static int cpu_choose(struct device *device, int local_rank, int local_size) {
  (void)local_size;
  device->index = local_rank;
  processor_name(device->name, sizeof device->name);
  return OK;
}

static int cpu_open(struct device *device) {
  omp_set_num_threads(device->threads);
  return memory_alloc_bytes(&device->impl, MARKS * (int64_t)sizeof(double), "a device");
}

static void cpu_close(struct device *device) {
  free(device->impl);
}

static int cpu_alloc(struct device *device, int64_t bytes, void **pointer, const char *what) {
  (void)device;
  return memory_alloc_bytes(pointer, bytes, what);
}

static void cpu_release(struct device *device, void *pointer) {
  (void)device;
  free(pointer);
}

static int cpu_copy(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes) {
  (void)device, (void)stream;
  if (to != from && bytes > 0) memcpy(to, from, (size_t)bytes);
  return OK;
}

static int cpu_clear(struct device *device, enum stream stream, void *pointer, int64_t bytes) {
  (void)device, (void)stream;
  if (bytes > 0) memset(pointer, 0, (size_t)bytes);
  return OK;
}

static int cpu_record(struct device *device, enum event event, enum stream stream) {
  (void)device, (void)event, (void)stream;
  return OK;
}

static int cpu_wait(struct device *device, enum stream stream, enum event event) {
  (void)device, (void)stream, (void)event;
  return OK;
}

static int cpu_synchronize(struct device *device, enum stream stream) {
  (void)device, (void)stream;
  return OK;
}

/* A mark is the time at which it was set: all work before it has been done. */
static int cpu_mark(struct device *device, int mark, enum stream stream) {
  (void)stream;
  double *clock = device->impl;
  clock[mark] = profile_clock();
  return OK;
}

static int cpu_reach(struct device *device, int mark) {
  (void)device, (void)mark;
  return OK;
}

static int cpu_elapsed(struct device *device, int from, int to, double *ms) {
  const double *clock = device->impl;
  *ms = 1e3 * (clock[to] - clock[from]);
  return OK;
}

static int64_t cpu_memory_free(struct device *device) {
  (void)device;
  return memory_available();
}

static int64_t cpu_memory_used(struct device *device) {
  (void)device;
  return memory_used();
}

static int64_t cpu_memory_peak(struct device *device) {
  (void)device;
  return memory_peak();
}

const struct device_ops device_cpu_ops = {
    .name = "cpu",
    .on_host = 1,
    .available = cpu_available,
    .choose = cpu_choose,
    .open = cpu_open,
    .close = cpu_close,
    .memory = {.alloc = cpu_alloc,
               .release = cpu_release,
               .upload = cpu_copy,
               .download = cpu_copy,
               .copy = cpu_copy,
               .clear = cpu_clear,
               .host_alloc = cpu_alloc,
               .host_release = cpu_release,
               .left = cpu_memory_free,
               .used = cpu_memory_used,
               .peak = cpu_memory_peak},
    .stream = {.record = cpu_record,
               .wait = cpu_wait,
               .synchronize = cpu_synchronize,
               .mark = cpu_mark,
               .reach = cpu_reach,
               .elapsed = cpu_elapsed},
};
