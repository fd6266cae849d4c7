/* mlp: Z = H W, the baseline that does not see the graph. */
#include "models/layers/layers.h"

void mlp_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  build_epilogue(b, build_linear(b, b->x, weight), epilogue);
}

static void mlp_build(struct build *b) {
  build_alike(b, mlp_layer);
}

const struct model_type mlp_model = {.name = "mlp", .about = "no edges, to compare with", .build = mlp_build};
