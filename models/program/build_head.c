#include "models/program/build_head.h"

#include "models/core/readout.h"
#include "runtime/base/base.h"

int build_is_of_graphs(const struct build *b) {
  return b->run->shard->graphs.all > 0;
}

/* What a layer leaves becomes a row a graph. */
static int build_readout(struct build *b, int x, int real) {
  struct step step = step_of(STEP_READOUT, b->layer);
  const int64_t width = build_cols(b, x), winners = readout_winner_cols(b->run, width);
  step.in[0] = x;
  step.out[0] = build_value(b, "readout", width, real);
  if (winners > 0) step.out[1] = build_value(b, "winners", winners, 0);
  build_step(b, step);
  return step.out[0];
}

/* Its parameters have names of their own: a checkpoint tells by them what its logits are of. */
static int build_readout_weight(struct build *b, int x) {
  return build_weight(b, "readout", build_cols(b, x), b->run->shard->classes);
}

/* Sums and means of X are taken behind the product, which is narrower, and has sparse features. */
static int build_scores_of_features(struct build *b) {
  const int weight = build_readout_weight(b, VALUE_FEATURES);
  if (readout_winner_cols(b->run, 1) == 0)
    return build_readout(b, build_linear(b, VALUE_FEATURES, weight), 1);
  const int scores = build_linear(b, build_readout(b, VALUE_FEATURES, 0), weight);
  build_widen(b, scores);
  return scores;
}

/* What a hidden layer gives, and what those below it do. */
static int build_scores(struct build *b, int x, int below) {
  struct step sum = step_of(STEP_EPILOGUE, b->layer);
  const int weight = build_readout_weight(b, x);
  sum.in[0] = build_linear(b, build_readout(b, x, 0), weight);
  sum.in[1] = below;
  build_widen(b, sum.in[0]);
  sum.out[0] = build_value(b, "scores", build_cols(b, below), 1);
  build_step(b, sum);
  return sum.out[0];
}

/* Of all layers below the last hidden one, each right behind it. Layer l has "layer<l>.readout" of what it
 * reads. */
static int build_scores_below(struct build *b) {
  struct program *p = b->program;
  const int layer = b->layer;
  int scores = NONE;
  for (int s = -1; s < p->steps && p->code == OK; s++) {
    const int y = s < 0 ? VALUE_FEATURES : p->step[s].out[0], first = p->steps;
    if (y == b->x || (s >= 0 && !(p->step[s].kind == STEP_EPILOGUE && p->value[y].ends_layer))) continue;
    b->layer = s < 0 ? 0 : p->step[s].layer + 1;
    scores = s < 0 ? build_scores_of_features(b) : build_scores(b, y, scores);
    program_move(p, first, s + 1);
  }
  b->layer = layer;
  return scores;
}

static void build_graph_head(struct build *b) {
  struct step epilogue = step_of(STEP_EPILOGUE, b->layer);
  if (b->run->config->model.readout_layers == READOUT_LAYERS_ALL) epilogue.in[1] = build_scores_below(b);
  b->x = b->program->embedding = build_readout(b, b->x, 0);
  b->last = 1;
  int weight = build_readout_weight(b, b->x);
  if (b->run->config->model.bias)
    epilogue.index.bias = build_parameter(b, "readout_bias", 1, b->run->shard->classes, START_ZERO);
  build_epilogue(b, build_linear(b, b->x, weight), epilogue);
}

void build_head(struct build *b) {
  if (build_is_of_graphs(b)) {
    build_graph_head(b);
    return;
  }
  b->last = 1;
  build_linear_layer(b, b->run->shard->classes, build_last(b->run));
}

void build_alike(struct build *b, build_layer *layer) {
  const struct config *config = b->run->config;
  const int64_t hidden = config->model.layers - !build_is_of_graphs(b);
  for (int64_t l = 0; l < hidden; l++) layer(b, config->model.hidden, build_hidden(b->run));
  if (build_is_of_graphs(b)) {
    build_head(b);
    return;
  }
  b->last = 1;
  layer(b, b->run->shard->classes, build_last(b->run));
}
