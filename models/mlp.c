/* mlp: Z = H W, the baseline that does not see the graph. */
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"

static int mlp_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  TRY(layer_times_weight(model, run, layer, layer->weight, (struct tensor){0}, layer_fused_end(layer),
                         layer->z));
  return layer_rest(run, layer, training);
}

/* dW = H^T dZ, dH = dZ W^T */
static int mlp_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                        struct tensor residual, const struct update_backward *below) {
  struct tensor dx = below ? below->dy : (struct tensor){0};
  return layer_gradients(model, run, layer, layer->weight, dz, dx, residual, below);
}

const struct layer_ops mlp_layer = {
    .init = layer_parameters, .forward = mlp_forward, .backward = mlp_backward};

static int mlp_stack(struct model *model, const struct run *run) {
  return stack_alike(model, run, &mlp_layer);
}

const struct model_type mlp_model = {"mlp", mlp_stack};
