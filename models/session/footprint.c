#include "models/session/footprint.h"

#include "runtime/base/base.h"

/* What MPI's connections, HDF5's caches and BLAS's buffers add to the program as it starts: 7 to 8 MiB were
 * measured on graphs too small to matter. */
static const int64_t LIBRARIES_AT_WORK = 8 << 20;

void footprint_begin(struct footprint *footprint) {
  footprint->program = memory_peak();
}

/* The libraries of a device on its own are at work by now, beside the graph. */
void footprint_add_program(struct footprint *footprint, const struct device *device, int64_t data) {
  int64_t program = footprint->program;
  if (!device->ops->on_host) {
    int64_t beside = memory_used() - data;
    if (beside > program) program = beside;
  }
  estimate_add(&footprint->host, "program and libraries", program + LIBRARIES_AT_WORK);
}

void footprint_add_taken(struct footprint *footprint, struct device *device, const char *name) {
  if (device->ops->on_host) return;
  int64_t more = device->ops->memory.used(device) - footprint->taken;
  estimate_add(&footprint->device, name, more);
  footprint->taken += more;
  footprint->parts_taken = footprint->device.parts;
}

/* What training takes of a device with memory of its own, and what cutting the layouts took beyond that
 * before it was given back. */
static void add_device(struct footprint *footprint, struct device *device) {
  int64_t total = estimate_total(&footprint->device);
  if (device->ops->on_host) return;
  footprint->needed = total - footprint->taken;
  int64_t peak = device->ops->memory.peak(device);
  estimate_add(&footprint->device, "cutting the layouts, beyond that", peak > total ? peak - total : 0);
}

/* The host's peak is the largest of its stages: making the partition, building the shard, training. */
void footprint_add_training(struct footprint *footprint, const struct trainer *trainer, const struct run *run,
                            const struct footprint_stages *stages) {
  struct estimate *host = &footprint->host;
  int64_t base = estimate_total(host), building = stages->building + stages->owners;
  int64_t making = stages->made > 0 ? stages->made - base : stages->making;
  estimate_add(host, "graph, features and labels", stages->graph);
  trainer_estimate(trainer, run, host, run->device->ops->on_host ? host : &footprint->device);
  estimate_add(host, "owners and order of nodes", stages->owners);
  int64_t training = estimate_total(host) - base;
  estimate_add(host, "building the shard, beyond that", building > training ? building - training : 0);
  if (building > training) training = building;
  estimate_add(host, "making the partition, beyond that", making > training ? making - training : 0);
  add_device(footprint, run->device);
}

int footprint_check(const struct footprint *footprint, struct device *device) {
  int64_t needed = footprint->needed, left = device->ops->memory.left(device);
  char parts[512], more[16], there[16];
  if (device->ops->on_host || left < 0 || needed <= left) return OK;
  estimate_text(&footprint->device, footprint->parts_taken, parts, sizeof parts);
  FAIL(FAILED,
       "out of GPU memory: training takes %s more (%s), but %s are free on %s; use more ranks, "
       "runtime.precision = \"bf16\", a smaller model.hidden or fewer model.layers",
       memory_text(needed, more), parts, memory_text(left, there), device->name);
}
