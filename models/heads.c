#include "models/heads.h"

#include "io/dataset.h"
#include "kernels/attention.h"
#include "runtime/error.h"

int heads_check(const struct run *run) {
  if (!attention_is_there(run->kernels))
    FAIL(BAD_INPUT, "model.type = \"%s\" runs on the CPU only so far, not on \"%s\"; choose --device cpu",
         run->config->model.type, run->device->ops->name);
  if (run->dataset->weighted)
    FAIL(BAD_INPUT, "%s: its edges have weights, which model.type = \"%s\" has no use for; import it without",
         run->config->dataset.path, run->config->model.type);
  return OK;
}
