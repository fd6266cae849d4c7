#include "models/layers/layers.h"

#include "io/dataset/dataset.h"
#include "runtime/base/error.h"

static int check_unweighted(const struct run *run) {
  if (run->dataset->weighted)
    FAIL(BAD_INPUT, "%s: its edges have weights, which model.type = \"%s\" has no use for; import it without",
         run->config->dataset.path, run->config->model.type);
  return OK;
}

void attention_check(struct build *b) {
  if (b->code == OK) b->code = check_unweighted(b->run);
}
