/* agnn: Z_v = sum_u a_vu h_u, a_vu = softmax over the row of beta cos(h_v, h_u), with exactly one self loop a
 * node (Thekumparampil et al. 2018): propagations with one trained number each, between two linear layers. */
#include "kernels/ops/attention.h"
#include "models/layers/layers.h"
#include "runtime/base/error.h"

/* One that is not trained has no gradient, and no weight decay. */
static void add_beta(struct build *b, struct step *cosine) {
  struct parameters *parameters = b->parameters;
  cosine->fixed = b->layer == 1 && !b->run->config->model.learn_first_beta;
  if (cosine->fixed) parameters->group_begin = parameters->count;
  cosine->parameter[0] = build_parameter(b, "beta", 1, 1, START_ONE);
  if (cosine->fixed) parameters->group_end = parameters->count;
}

static void agnn_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  const struct kernels *k = b->run->kernels;
  struct step cosine = step_of(STEP_COSINE, b->layer);
  add_beta(b, &cosine);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  cosine.in[0] = b->x;
  cosine.heads = 1;
  cosine.width = (int)out;
  cosine.exchange = cosine_message_cols(k, out, 1);
  cosine.out[0] = build_value(b, "z", out, 0);
  cosine.out[1] = build_value(b, "log sum", 1, 1);
  cosine.out[2] = build_value(b, "message", cosine_message_cols(k, out, 0), 0);
  if (b->run->comm->size > 1 && k->dtype != k->real) cosine.out[3] = build_value(b, "sums", out, 1);
  build_step(b, cosine);
  build_epilogue(b, cosine.out[0], epilogue);
}

static int check(const struct config *config, const struct dataset *dataset) {
  const long long layers = config->model.layers;
  if (layers < 3)
    FAIL(BAD_INPUT, "model.layers = %lld: model.type = \"agnn\" has 3 or more, a linear one at each end",
         layers);
  return attention_check(config, dataset);
}

/* Hidden values are dropped once, behind the last propagation. */
static void agnn_build(struct build *b) {
  const struct config *config = b->run->config;
  struct layer_epilogue first = build_hidden(b->run), propagation = {.residual = config->model.residual};
  b->propagation->adjacency_norm = ADJACENCY_NORM_SUM;
  b->propagation->attends.on = 1;
  first.dropout = 0;
  build_linear_layer(b, config->model.hidden, first);
  for (int64_t l = 1; l < config->model.layers - 1; l++) {
    if (l == config->model.layers - 2) propagation.dropout = config->model.dropout;
    agnn_layer(b, config->model.hidden, propagation);
  }
  build_head(b);
}

const struct model_type agnn_model = {.name = "agnn",
                                      .about = "attention by cosines (Thekumparampil et al. 2018)",
                                      .build = agnn_build,
                                      .check = check};
