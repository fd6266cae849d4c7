#include "models/layers/layers.h"

#include "io/dataset/dataset.h"
#include "runtime/base/error.h"

int attention_check(const struct config *config, const struct dataset *dataset) {
  if (dataset && dataset->weighted)
    FAIL(BAD_INPUT, "%s: its edges have weights, which model.type = \"%s\" has no use for; import it without",
         config->dataset.path, config->model.type);
  return OK;
}

int attention_check_heads(const struct config *config, const struct dataset *dataset) {
  long long hidden = config->model.hidden, heads = config->model.heads;
  if (config->model.layers > 1 && hidden % heads != 0)
    FAIL(BAD_INPUT, "model.hidden = %lld does not divide into model.heads = %lld heads; choose a multiple",
         hidden, heads);
  return attention_check(config, dataset);
}

void attention_of_heads(struct build *b) {
  struct propagation *p = b->propagation;
  p->adjacency_norm = ADJACENCY_NORM_SUM;
  p->attends.on = 1;
  p->wants_ids = b->run->config->model.dropout_attention > 0;
}
