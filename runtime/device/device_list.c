#include "runtime/device/device_list.h"

#include "runtime/base/base.h"

const struct device_ops *const device_list[] = {
#ifdef GNNTRAIN_HAVE_CUDA
    &device_cuda_ops,
#endif
    &device_cpu_ops, NULL};

static int refuse_device(const char *name) {
  char names[64] = "auto";
  for (int i = 0; device_list[i]; i++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, ", %s", device_list[i]->name);
  }
  FAIL(BAD_INPUT, "device \"%s\" is not in this build; allowed: %s", name, names);
}

int device_check(const char *name) {
  int known = strcmp(name, "auto") == 0;
  for (int i = 0; device_list[i]; i++) known |= strcmp(device_list[i]->name, name) == 0;
  return known ? OK : refuse_device(name);
}

static int device_find(const char *name, const struct device_ops **found) {
  int any = strcmp(name, "auto") == 0;
  const struct device_ops *named = NULL;
  for (int i = 0; device_list[i] && !named; i++) {
    if (any ? device_list[i]->available() > 0 : strcmp(device_list[i]->name, name) == 0)
      named = device_list[i];
  }
  for (int i = 0; any && device_list[i] != named; i++) {
    const char *reason = device_list[i]->absent ? device_list[i]->absent() : "";
    if (reason[0]) log_warn("%s is not used: %s", device_list[i]->name, reason);
  }
  if (!named) return refuse_device(name);
  if (named->available() == 0) {
    const char *reason = named->absent ? named->absent() : "";
    FAIL(BAD_INPUT, "device \"%s\": this machine has none%s%s; use --device cpu", name, reason[0] ? ": " : "",
         reason);
  }
  *found = named;
  return OK;
}

int device_choose(struct device *device, const char *name, int local_rank, int local_size, int threads) {
  *device = (struct device){.threads = threads};
  const struct device_ops *ops = NULL;
  TRY(device_find(name, &ops));
  device->ops = ops;
  return ops->choose(device, local_rank, local_size);
}

int device_open(struct device *device, const char *name, int local_rank, int local_size, int threads) {
  TRY(device_choose(device, name, local_rank, local_size, threads));
  TRY(device_start(device));
  return device_adopt(device);
}

int device_simulate(struct device *device, const char *name, int64_t memory, int threads) {
  *device = (struct device){.ops = &device_simulated_ops, .memory = memory, .threads = threads};
  snprintf(device->name, sizeof device->name, "%s", name);
  TRY(device_start(device));
  return device_adopt(device);
}
