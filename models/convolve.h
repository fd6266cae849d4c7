/* convolve: Z = P H W, the linear part of convolutions, in the cheaper of two orders: P (H W) aggregates rows
 * of `out` numbers, (P H) W rows of `in`. W is the layer's `weight`. */
#ifndef MODELS_CONVOLVE_H
#define MODELS_CONVOLVE_H

#include "models/layer.h"

/* Decides the order; layer->keeps_product is set by then. `changes`: P is not the same in every epoch. */
void convolve_init(const struct run *run, struct layer *layer, int changes);

/* For layers that use dz in convolve_backward alone: it then comes scaled, which spares a pass. */
void convolve_owns_dz(struct layer *layer);
/* layer_ops.one_product: dW = (P X)^T dZ, where the aggregate came first. */
int convolve_one_product(struct model *model, struct run *run, const struct layer *layer, struct tensor dz,
                         struct gemm *op);

/* layer_ops.first_product: H W, where the aggregate does not come first. */
int convolve_first_product(struct model *model, struct run *run, struct layer *layer, struct gemm *op);

/* The aggregate P H, which comes first, unless it never changes. */
int convolve_aggregate(struct model *model, struct run *run, struct layer *layer);

/* z [own, out], then `end` (NULL: none; else its z is z). */
int convolve_forward(struct model *model, struct run *run, struct layer *layer, const struct update *end,
                     struct tensor z);

/* The gradient of W from dz; and, when dx.data is given, dx [own, in] (+ residual), on which `below` is then
 * applied (NULL: nothing; its dy is dx). dx may be dz's memory. */
int convolve_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                      struct tensor dx, struct tensor residual, const struct update_backward *below);

#endif
