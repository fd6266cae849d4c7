/* hyper_product: a product with P of a hypergraph: to the hyperedges by the incidences of one part, back by
 * those of one (struct hyper_way). Inner hyperedges are summed while rows of outer ones travel. */
#ifndef MODELS_CORE_PROPAGATION_HYPER_PRODUCT_H
#define MODELS_CORE_PROPAGATION_HYPER_PRODUCT_H

#include "models/core/propagation/propagation.h"

/* See struct propagation_ops. */
int hyper_sums_multiply(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                        const struct propagate_ends *ends, struct tensor y);

#endif
