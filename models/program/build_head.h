/* build_head: the layer that leaves the logits. Of nodes it is linear. Of graphs a linear layer reads what
 * the nodes of each have become, the readout of the last hidden layer:
 *   logits = readout(H_K) W_K + b
 * or the readouts of all layers have such a layer each, the features among them, H_0 = X, and what these give
 * is added up (Xu, Hu, Leskovec and Jegelka 2019, section 4.2; model.readout_layers = "all"):
 *   logits = sum_k readout(H_k) W_k + b
 * Invariant: the readout of a layer is the first step that reads its output, so that in the backward it is
 * the last one, which adds what the others have left. */
#ifndef MODELS_PROGRAM_BUILD_HEAD_H
#define MODELS_PROGRAM_BUILD_HEAD_H

#include "models/program/build.h"

/* The layer above all hidden ones, which leaves the logits: linear, and of graphs behind their readout, or
 * behind that of each layer. */
void build_head(struct build *b);
/* Whether the rows that end in the logits are those of graphs: then all layers over arcs are hidden ones. */
int build_is_of_graphs(const struct build *b);
/* model.layers layers of one kind, of which the last leaves the logits; of graphs, that many and a head. */
void build_alike(struct build *b, build_layer *layer);

#endif
