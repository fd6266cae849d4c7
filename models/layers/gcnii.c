/* gcnii: Z = ((1 - a) P H + a H0) ((1 - b) I + b W), b = log(lambda / l + 1) in convolution l, P as in gcn,
 * H0 the output of a linear layer below all convolutions; another one stands above them (Chen, Wei, Huang,
 * Ding and Li 2020).
 *
 * With M = (1 - a) ((1 - b) I + b W) this is S M, S = P H + a / (1 - a) H0: the initial residual is the
 * epilogue of the aggregation, and the identity mapping costs no pass over the nodes. */
#include <math.h>

#include "models/layers/layers.h"
#include "runtime/base/error.h"

/* M, dtype [in, out]. */
static int build_map(struct build *b, int weight, int64_t in, int64_t out, double share) {
  struct step map = step_of(STEP_MAP, b->layer);
  map.parameter[0] = weight;
  map.factor = share;
  map.diagonal = 1 - b->run->config->model.alpha - share;
  map.out[0] = build_value(b, "map", out, 0);
  b->program->value[map.out[0]].rows = in;
  build_step(b, map);
  return map.out[0];
}

static void convolution(struct build *b, int initial, struct layer_epilogue form) {
  const struct config *config = b->run->config;
  const double share = (1 - config->model.alpha) * log(config->model.lambda / b->layer + 1);
  const int64_t width = config->model.hidden;
  int weight = build_weight(b, "weight", width, width);
  struct step epilogue = build_epilogue_parameters(b, width, form), product = step_of(STEP_LINEAR, b->layer);
  struct step sum = build_aggregate_step(b, b->x, NONE);
  sum.in[2] = initial;
  sum.fixed = 1;
  product.parameter[0] = weight;
  product.factor = share;
  product.in[0] = sum.out[0];
  product.in[2] = build_map(b, weight, width, width, share);
  product.out[0] = build_value(b, "z", width, 0);
  build_step(b, sum);
  build_step(b, product);
  build_epilogue(b, product.out[0], epilogue);
}

/* a / (1 - a) H0, for all convolutions. */
static int build_initial(struct build *b, int h0) {
  struct step add = step_of(STEP_ADD, b->layer);
  const double alpha = b->run->config->model.alpha;
  add.in[0] = h0;
  add.factor = alpha / (1 - alpha);
  add.out[0] = build_value(b, "initial", build_cols(b, h0), 0);
  build_step(b, add);
  return add.out[0];
}

/* H0 is dropped on its way into the first convolution alone. */
static void drop_input(struct build *b) {
  struct step dropout = step_of(STEP_DROPOUT, 0);
  dropout.epilogue.dropout = b->run->config->model.dropout;
  if (dropout.epilogue.dropout == 0) return;
  dropout.in[0] = b->x;
  b->x = dropout.out[0] = build_value(b, "input", build_cols(b, b->x), 0);
  build_step(b, dropout);
}

int gcnii_check(const struct config *config, const struct dataset *dataset) {
  (void)dataset;
  if (config->model.residual)
    FAIL(BAD_INPUT,
         "model.residual = true does not fit model.type = \"%s\", which has the initial residual model.alpha",
         config->model.type);
  return OK;
}

void gcnii_build(struct build *b, enum adjacency_norm adjacency_norm) {
  const struct config *config = b->run->config;
  struct parameters *parameters = b->parameters;
  struct layer_epilogue first = build_hidden(b->run), form = build_hidden(b->run);
  b->propagation->adjacency_norm = adjacency_norm;
  first.dropout = 0;
  form.bias = 0;
  build_linear_layer(b, config->model.hidden, first);
  int initial = build_initial(b, b->x);
  drop_input(b);
  parameters->group_decay = config->train.weight_decay_convolutions;
  parameters->group_begin = parameters->group_end = parameters->count;
  for (int64_t l = 0; l < config->model.layers; l++) convolution(b, initial, form);
  if (parameters->group_decay >= 0) parameters->group_end = parameters->count;
  build_head(b);
}

static void build_on_graph(struct build *b) {
  gcnii_build(b, ADJACENCY_NORM_GCN);
}

const struct model_type gcnii_model = {
    .name = "gcnii",
    .about = "deep graph convolution that keeps its first layer (Chen et al. 2020)",
    .build = build_on_graph,
    .check = gcnii_check,
    .self_loops = 1};
