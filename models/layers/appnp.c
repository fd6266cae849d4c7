/* appnp: Z_0 = H, Z_k+1 = (1 - a) P Z_k + a H, a = model.alpha; logits = Z_K, K = model.steps; H the output
 * of an mlp of model.layers layers, P as in gcn (Gasteiger et al. 2019). */
#include "models/layers/layers.h"

/* a H; logits are as wide as sums, and so is what is added to them. */
static int build_teleport(struct build *b, int h, int real) {
  struct step add = step_of(STEP_ADD, b->layer);
  add.in[0] = h;
  add.factor = b->run->config->model.alpha;
  add.out[0] = build_value(b, real ? "teleport sum" : "teleport", build_cols(b, h), real);
  build_step(b, add);
  return add.out[0];
}

static void appnp_build(struct build *b) {
  const struct config *config = b->run->config;
  const int64_t classes = b->run->shard->classes, steps = config->model.steps;
  b->propagation->adjacency_norm = ADJACENCY_NORM_GCN;
  b->propagation->factor = 1 - config->model.alpha;
  for (int64_t l = 1; l < config->model.layers; l++)
    build_linear_layer(b, config->model.hidden, build_hidden(b->run));
  build_linear_layer(b, classes, build_last(b->run));
  int z = b->x, teleport = steps > 1 ? build_teleport(b, b->x, 0) : NONE;
  struct step last = step_of(STEP_EPILOGUE, b->layer);
  last.in[1] = build_teleport(b, b->x, 1);
  for (int64_t k = 0; k < steps; k++) {
    struct step sum = build_aggregate_step(b, z, NONE);
    sum.fixed = 1;
    if (k < steps - 1) sum.in[2] = teleport;
    build_step(b, sum);
    z = sum.out[0];
  }
  b->last = 1;
  build_epilogue(b, z, last);
}

const struct model_type appnp_model = {
    .name = "appnp",
    .about = "an mlp, whose predictions are propagated (Gasteiger et al. 2019)",
    .build = appnp_build,
    .self_loops = 1};
