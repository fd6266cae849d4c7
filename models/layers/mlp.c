/* mlp: Z = H W, the baseline that does not see the graph. */
#include "models/layers/layers.h"

static void mlp_build(struct build *b) {
  build_alike(b, build_linear_layer);
}

const struct model_type mlp_model = {.name = "mlp", .about = "no edges, to compare with", .build = mlp_build};
