/* gcn: Z = P H W, P = D~^-1/2 (A + I) D~^-1/2 (Kipf and Welling 2017). */
#include "models/layers/layers.h"

void gcn_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  int product = build_linear(b, b->x, weight);
  build_epilogue(b, build_aggregate(b, product, NONE), epilogue);
}

static void gcn_build(struct build *b) {
  b->propagation->adjacency_norm = ADJACENCY_NORM_GCN;
  build_alike(b, gcn_layer);
}

const struct model_type gcn_model = {
    .name = "gcn", .about = "graph convolution (Kipf and Welling 2017)", .build = gcn_build, .self_loops = 1};
