/* mlp: Z = H W, the baseline that does not see the graph. */
#include "models/model.h"
#include "runtime/error.h"

static int mlp_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  TRY(layer_times_weight(model, run, layer, layer_fused_end(layer), layer->z));
  return layer_rest(run, layer, training);
}

/* dW = H^T dZ, dH = dZ W^T */
static int mlp_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                        struct tensor residual, const struct update_backward *below) {
  TRY(layer_weight_gradient(model, run, layer, dz));
  return below ? layer_input_gradient(model, run, layer, dz, below->dy, residual, below) : OK;
}

const struct layer_ops mlp_layer = {.name = "mlp",
                                    .uses_graph = 0,
                                    .init = layer_parameters,
                                    .forward = mlp_forward,
                                    .backward = mlp_backward};
