#include "models/heads.h"

#include "io/dataset.h"
#include "runtime/error.h"

int heads_check(const struct run *run) {
  if (run->dataset->weighted)
    FAIL(BAD_INPUT, "%s: its edges have weights, which model.type = \"%s\" has no use for; import it without",
         run->config->dataset.path, run->config->model.type);
  return OK;
}
