/* hgnn: Z = P H W + b, P = D_v^-1/2 B W_e D_e^-1 B^T D_v^-1/2, B the incidence matrix, D the degrees of
 * vertices and the sizes of hyperedges (Feng et al. 2019). With model.edge_weights the diagonal W_e is
 * trained, from 1 and in each layer for itself; D_v stays that of weights 1. */
#include "models/layers/layers.h"

/* The sums of hyperedges that the gradient of W_e wants. */
static int build_hyperedges(struct build *b, int64_t cols) {
  int sums = build_value(b, "hyperedges", cols, 0);
  b->program->value[sums].rows = b->run->shard->hyper.edges;
  return sums;
}

static void hgnn_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  const int trains = b->run->config->model.edge_weights;
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  struct step aggregate = build_aggregate_step(b, build_linear(b, b->x, weight), NONE);
  if (trains) {
    aggregate.parameter[0] = build_parameter(b, "edge_weight", 1, b->run->shard->hyper.hyperedges, START_ONE);
    aggregate.out[1] = build_hyperedges(b, out);
  }
  build_step(b, aggregate);
  build_epilogue(b, aggregate.out[0], epilogue);
}

static void hgnn_build(struct build *b) {
  b->propagation->adjacency_norm = ADJACENCY_NORM_HYPER_NORM;
  b->propagation->hyper.trains_weights = b->run->config->model.edge_weights;
  build_alike(b, hgnn_layer);
}

const struct model_type hgnn_model = {.name = "hgnn",
                                      .about = "convolution on hypergraphs (Feng et al. 2019)",
                                      .build = hgnn_build,
                                      .on_hypergraph = 1};
