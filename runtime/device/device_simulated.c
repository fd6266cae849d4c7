/* A GPU that is not there: a clock a stream, which kernels and messages set forward by what they are said to
 * take. Nothing is stored in its memory, which is counted. */
#include <sys/mman.h>

#include "runtime/base/base.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile_device.h"

struct simulated {
  double clock[STREAMS], event[EVENTS], mark[MARKS]; /* seconds */
  int64_t used, peak;
};

/* In front of what was allocated, whose address is no memory's. */
struct block {
  int64_t bytes;
};

static struct simulated *simulated_of(const struct device *device) {
  return device->impl;
}

static int simulated_open(struct device *device) {
  return memory_alloc_bytes(&device->impl, (int64_t)sizeof(struct simulated), "a device");
}

static void simulated_close(struct device *device) {
  free(device->impl);
}

/* A page that can be written has the size; the pages behind it cannot even be read. */
static int simulated_alloc(struct device *device, int64_t bytes, void **pointer, const char *what) {
  struct simulated *simulated = simulated_of(device);
  enum { PAGE = 4096 };
  *pointer = NULL;
  void *pages = mmap(NULL, (size_t)(bytes + 2 * PAGE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
  if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_READ | PROT_WRITE) != 0)
    FAIL(FAILED, "out of addresses: %s would take %lld bytes", what, (long long)bytes);
  ((struct block *)pages)->bytes = bytes;
  simulated->used += bytes;
  simulated->peak = larger(simulated->peak, simulated->used);
  *pointer = (char *)pages + PAGE;
  return OK;
}

static void simulated_release(struct device *device, void *pointer) {
  enum { PAGE = 4096 };
  struct block *block = (void *)((char *)pointer - PAGE);
  const int64_t bytes = block->bytes;
  simulated_of(device)->used -= bytes;
  munmap(block, (size_t)(bytes + 2 * PAGE));
}

/* To and from the host: set-up, which is not timed; but for copies beside the steps of an epoch, at the rate
 * of a PCIe 5.0 bus, of which an H200 was measured. */
static int simulated_upload(struct device *device, enum stream stream, void *to, const void *from,
                            int64_t bytes) {
  static const double bus = 54e9; /* bytes a second */
  (void)to, (void)from;
  if (stream == STREAM_HOST) simulated_of(device)->clock[stream] += (double)bytes / bus;
  return OK;
}

static int simulated_clear(struct device *device, enum stream stream, void *pointer, int64_t bytes) {
  (void)device, (void)stream, (void)pointer, (void)bytes;
  return OK;
}

static int simulated_host_alloc(struct device *device, int64_t bytes, void **pointer, const char *what) {
  (void)device;
  return memory_alloc_bytes(pointer, bytes, what);
}

static void simulated_host_release(struct device *device, void *pointer) {
  (void)device;
  free(pointer);
}

static int simulated_record(struct device *device, enum event event, enum stream stream) {
  struct simulated *simulated = simulated_of(device);
  simulated->event[event] = simulated->clock[stream];
  return OK;
}

static int simulated_wait(struct device *device, enum stream stream, enum event event) {
  struct simulated *simulated = simulated_of(device);
  if (simulated->clock[stream] < simulated->event[event]) simulated->clock[stream] = simulated->event[event];
  return OK;
}

static int simulated_synchronize(struct device *device, enum stream stream) {
  (void)device, (void)stream;
  return OK;
}

static int simulated_mark(struct device *device, int mark, enum stream stream) {
  struct simulated *simulated = simulated_of(device);
  simulated->mark[mark] = simulated->clock[stream];
  return OK;
}

static int simulated_reach(struct device *device, int mark) {
  (void)device, (void)mark;
  return OK;
}

static int simulated_elapsed(struct device *device, int from, int to, double *ms) {
  const struct simulated *simulated = simulated_of(device);
  *ms = 1e3 * (simulated->mark[to] - simulated->mark[from]);
  return OK;
}

static int simulated_delay(struct device *device, enum stream stream, double seconds) {
  simulated_of(device)->clock[stream] += seconds;
  return OK;
}

static int64_t simulated_left(struct device *device) {
  return device->memory - simulated_of(device)->used;
}

static int64_t simulated_used(struct device *device) {
  return simulated_of(device)->used;
}

static int64_t simulated_peak(struct device *device) {
  return simulated_of(device)->peak;
}

/* A stamp is the time itself. */
static int stamp(void *context, int stream, void **of) {
  const struct device *device = context;
  double *time = malloc(sizeof *time);
  if (!time) return -1;
  *time = simulated_of(device)->clock[stream];
  *of = time;
  return 0;
}

static int seconds_between(void *context, void *from, void *to, double *seconds, int *ready) {
  (void)context;
  *seconds = *(double *)to - *(double *)from;
  *ready = 1;
  return 0;
}

static void release(void *context, void *of) {
  (void)context;
  free(of);
}

static void close_clock(void *context) {
  (void)context;
}

static int simulated_profile(struct device *device, struct profile_device *profile) {
  *profile = (struct profile_device){.context = device,
                                     .stamp = stamp,
                                     .seconds = seconds_between,
                                     .release = release,
                                     .close = close_clock};
  return OK;
}

const struct device_ops device_simulated_ops = {
    .name = "simulated",
    .stores_nothing = 1,
    .open = simulated_open,
    .close = simulated_close,
    .profile = simulated_profile,
    .memory = {.alloc = simulated_alloc,
               .release = simulated_release,
               .upload = simulated_upload,
               .download = simulated_upload,
               .copy = simulated_upload,
               .clear = simulated_clear,
               .host_alloc = simulated_host_alloc,
               .host_release = simulated_host_release,
               .left = simulated_left,
               .used = simulated_used,
               .peak = simulated_peak},
    .stream = {.record = simulated_record,
               .wait = simulated_wait,
               .synchronize = simulated_synchronize,
               .mark = simulated_mark,
               .reach = simulated_reach,
               .elapsed = simulated_elapsed,
               .delay = simulated_delay},
};
