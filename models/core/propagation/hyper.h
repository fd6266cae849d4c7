/* hyper: P of a hypergraph, from vertices to hyperedges and back, over all ranks; what propagate does where
 * the layers run on one.
 *
 *   P = diag(r) (B diag(t) B^T + diag(s)) diag(c)
 *
 * Inner hyperedges are summed in one operation while the rows of outer ones travel (partition/shard/hyper.h).
 * The own hyperedges that model.self_hyperedges gives to lonely vertices are in s, not in B. P^T: r and c
 * change places, by the same layouts and the same plan. */
#ifndef MODELS_CORE_PROPAGATION_HYPER_H
#define MODELS_CORE_PROPAGATION_HYPER_H

#include "models/core/propagation/propagation.h"

/* What propagate.h does where P is of a hypergraph. */
extern const struct propagation_ops hyper_propagation;

/* t = weight, real, one a hyperedge of the whole hypergraph, over the size. */
int hyper_set_weights(struct propagation *p, struct run *run, const void *weight);

#endif
