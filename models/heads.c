#include "models/heads.h"

#include "io/dataset.h"
#include "runtime/error.h"

/* GPUs have the operations; training with them has not been seen to agree with the CPU's there. */
int heads_check(const struct run *run) {
  if (!run->device->ops->on_host)
    FAIL(BAD_INPUT, "model.type = \"%s\" runs on the CPU only so far, not on \"%s\"; choose --device cpu",
         run->config->model.type, run->device->ops->name);
  if (run->dataset->weighted)
    FAIL(BAD_INPUT, "%s: its edges have weights, which model.type = \"%s\" has no use for; import it without",
         run->config->dataset.path, run->config->model.type);
  return OK;
}
