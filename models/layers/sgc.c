/* sgc: logits = P^K X W + b, K = model.layers, P as in gcn (Wu et al. 2019). */
#include "models/layers/layers.h"

/* Written as P (P (X W)): the passes put P P X first where it is computed once. */
static void sgc_build(struct build *b) {
  const int64_t out = b->run->shard->classes;
  b->propagation->adjacency_norm = ADJACENCY_NORM_GCN;
  b->last = 1;
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, build_last(b->run));
  int z = build_linear(b, b->x, weight);
  for (int64_t k = 0; k < b->run->config->model.layers; k++) z = build_aggregate(b, z, NONE);
  build_epilogue(b, z, epilogue);
}

const struct model_type sgc_model = {
    .name = "sgc",
    .about = "one linear map of features propagated model.layers times (Wu et al. 2019)",
    .build = sgc_build,
    .self_loops = 1};
