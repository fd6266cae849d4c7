#include "models/layers/layers.h"

#include "io/dataset/dataset.h"
#include "runtime/base/error.h"

static int check_unweighted(const struct run *run) {
  if (run->dataset->weighted)
    FAIL(BAD_INPUT, "%s: its edges have weights, which model.type = \"%s\" has no use for; import it without",
         run->config->dataset.path, run->config->model.type);
  return OK;
}

static int check_heads(const struct run *run) {
  const struct config *config = run->config;
  long long hidden = config->model.hidden, heads = config->model.heads;
  if (config->model.layers > 1 && hidden % heads != 0)
    FAIL(BAD_INPUT, "model.hidden = %lld does not divide into model.heads = %lld heads; choose a multiple",
         hidden, heads);
  return OK;
}

void attention_of_heads(struct build *b) {
  struct propagation *p = b->propagation;
  b->program->code = check_heads(b->run);
  attention_check(b);
  p->adjacency_norm = ADJACENCY_NORM_SUM;
  p->attends = 1;
  p->wants_ids = b->run->config->model.dropout_attention > 0;
}

void attention_check(struct build *b) {
  if (b->program->code == OK) b->program->code = check_unweighted(b->run);
}
