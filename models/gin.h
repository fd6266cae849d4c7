/* gin: the layer Z = ((1 + eps) I + P) H W, which P of graphs and of hypergraphs share. */
#ifndef MODELS_GIN_H
#define MODELS_GIN_H

#include "models/layer.h"

/* As layer_ops has them. gin_init leaves P the sum over neighbours; another one may be set behind it. */
int gin_init(struct model *model, struct run *run, struct layer *layer);
int gin_forward(struct model *model, struct run *run, struct layer *layer, int training);
int gin_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                 struct tensor residual, const struct update_backward *below);

#endif
