/* unigcnii: gcnii on a hypergraph, P H = d_i^-1/2 sum over the hyperedges e of i of d_e^-1/2 (mean of H over
 * e), d_e the mean degree of e's vertices (Huang and Yang 2021). */
#include "models/layers/layers.h"

static void unigcnii_build(struct build *b) {
  gcnii_build(b, ADJACENCY_NORM_HYPER_DEGREE);
}

const struct model_type unigcnii_model = {.name = "unigcnii",
                                          .about = "gcnii on hypergraphs (Huang and Yang 2021)",
                                          .build = unigcnii_build,
                                          .check = gcnii_check,
                                          .on_hypergraph = 1};
