/* gcnii: convolutions with initial residual and identity mapping between two linear layers, which P of graphs
 * and of hypergraphs share. */
#ifndef MODELS_GCNII_H
#define MODELS_GCNII_H

#include "models/layer.h"

/* A convolution, as layer_ops has them. gcnii_init leaves P that of gcn; another one may be set behind it. */
int gcnii_init(struct model *model, struct run *run, struct layer *layer);
void gcnii_plan(struct model *model, struct run *run, struct layer *layer, struct arena *arena);
int gcnii_forward(struct model *model, struct run *run, struct layer *layer, int training);
int gcnii_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                   struct tensor residual, const struct update_backward *below);

/* Linear, model.layers of those convolutions, linear. */
int gcnii_stack_of(struct model *model, const struct run *run, const struct layer_ops *convolution_ops);

#endif
