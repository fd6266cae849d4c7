/* unigin: Z = ((1 + eps) H + B B^T H) W + b, sums over hyperedges and back to their vertices (Huang and Yang
 * 2021). eps as in gin. */
#include "models/layers/layers.h"

static void unigin_build(struct build *b) {
  b->propagation->adjacency_norm = ADJACENCY_NORM_HYPER_SUM;
  build_alike(b, gin_aggregation);
}

const struct model_type unigin_model = {.name = "unigin",
                                        .about = "gin on hypergraphs (Huang and Yang 2021)",
                                        .build = unigin_build,
                                        .on_hypergraph = 1};
