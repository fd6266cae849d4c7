/* gin: H' = MLP((1 + eps) H + A H), MLP = Linear, batch norm, ReLU, Linear (Xu, Hu, Leskovec and Jegelka
 * 2019).
 *
 * The sum and the first Linear are a layer, Z = ((1 + eps) I + A) H W, whose epilogue is the batch norm and
 * the ReLU; the second Linear is a layer of its own, as in mlp. eps is model.eps, or a number of each layer
 * that is trained from there on. */
#include "models/layers/layers.h"
#include "runtime/base/error.h"

void gin_aggregation(struct build *b, int64_t out, struct layer_epilogue form) {
  struct propagation *p = b->propagation;
  const struct config *config = b->run->config;
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  p->loop = 1 + (config->model.learn_eps ? 0 : config->model.eps);
  p->loop_changes = config->model.learn_eps;
  int eps = NONE;
  if (config->model.learn_eps) {
    eps = build_parameter(b, "eps", 1, 1, START_VALUE);
    if (b->program->code == OK) b->parameters->list[eps].value = config->model.eps;
  }
  struct step sum = build_aggregate_step(b, build_linear(b, b->x, weight), NONE);
  sum.parameter[0] = eps;
  sum.aggregation.ties_first = 1; /* products take more along at their ends than sums over neighbours */
  build_step(b, sum);
  build_epilogue(b, sum.out[0], epilogue);
}

static int check(const struct config *config, const struct dataset *dataset) {
  (void)dataset;
  if (config->model.residual)
    FAIL(BAD_INPUT,
         "model.residual = true does not fit model.type = \"gin\", whose 1 + eps keeps the node itself");
  return OK;
}

static void gin_build(struct build *b) {
  const struct layer_epilogue inner = {.norm = NORM_BATCH, .activation = ACTIVATION_RELU};
  const struct config *config = b->run->config;
  const int64_t layers = config->model.layers;
  b->propagation->adjacency_norm = ADJACENCY_NORM_SUM;
  b->first_layers = 2;
  for (int64_t l = 0; l < layers; l++) {
    b->inside = 1;
    gin_aggregation(b, config->model.hidden, inner);
    b->inside = 0;
    b->last = l == layers - 1 && !build_is_of_graphs(b);
    build_linear_layer(b, b->last ? b->run->shard->classes : config->model.hidden,
                       b->last ? build_last(b->run) : build_hidden(b->run));
  }
  if (build_is_of_graphs(b)) build_head(b);
}

const struct model_type gin_model = {
    .name = "gin",
    .about = "sums of neighbours through an mlp of two layers (Xu et al. 2019)",
    .build = gin_build,
    .check = check};
