#include "kernels/ops/kernels.h"

#include "runtime/base/base.h"

const struct kernel_ops *const kernel_list[] = {&cpu_ops_f32,       &cpu_ops_f64,
#ifdef GNNTRAIN_HAVE_CUDA
                                                &cuda_ops_f32,      &cuda_ops_bf16,
#endif
                                                &simulated_ops_f32, &simulated_ops_bf16, NULL};

/* What the tables of this device serve, for a message. */
static void list_precisions(const struct device *device, char *text, size_t size) {
  text[0] = '\0';
  for (int p = 0; precision_name[p]; p++) {
    for (int i = 0; kernel_list[i]; i++) {
      const struct kernel_ops *ops = kernel_list[i];
      size_t used = strlen(text);
      if (strcmp(ops->device, device->ops->name) == 0 && ops->precisions >> p & 1)
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", precision_name[p]);
    }
  }
}

int kernels_choose(struct kernels *k, struct device *device, enum precision precision) {
  char served[64];
  *k = (struct kernels){.device = device, .precision = precision};
  for (int i = 0; kernel_list[i] && !k->ops; i++) {
    const struct kernel_ops *ops = kernel_list[i];
    if (strcmp(ops->device, device->ops->name) == 0 && ops->precisions >> precision & 1) k->ops = ops;
  }
  if (!k->ops) {
    list_precisions(device, served, sizeof served);
    FAIL(BAD_INPUT, "runtime.precision = \"%s\" is not there on device \"%s\"; allowed: %s",
         precision_name[precision], device->ops->name, served);
  }
  k->dtype = k->ops->dtype;
  k->real = k->ops->real;
  return OK;
}

int kernels_open(struct kernels *k, struct device *device, enum precision precision) {
  TRY(kernels_choose(k, device, precision));
  TRY(device_alloc(device, (int64_t)sizeof *k->scalars, (void **)&k->scalars, "kernel scalars"));
  return k->ops->open ? k->ops->open(k) : OK;
}

void kernels_close(struct kernels *k) {
  if (k->ops && k->ops->close) k->ops->close(k);
  if (k->device) {
    device_release(k->device, k->scalars);
    device_release(k->device, k->workspace);
  }
  *k = (struct kernels){0};
}
