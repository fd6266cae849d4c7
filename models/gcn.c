/* gcn: Z = P H W, P = D~^-1/2 (A + I) D~^-1/2 (Kipf and Welling 2017). */
#include "models/convolve.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"

static int gcn_init(struct model *model, struct run *run, struct layer *layer) {
  model->propagation.weighting = WEIGHTING_GCN;
  convolve_init(run, layer, 0);
  convolve_owns_dz(layer);
  return layer_parameters(model, run, layer);
}

static int gcn_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  TRY(convolve_forward(model, run, layer, layer_fused_end(layer), layer->z));
  return layer_rest(run, layer, training);
}

static int gcn_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                        struct tensor residual, const struct update_backward *below) {
  return convolve_backward(model, run, layer, dz, below ? below->dy : (struct tensor){0}, residual, below);
}

static const struct layer_ops gcn_layer = {
    .uses_graph = 1,
    .in_place = 1,
    .init = gcn_init,
    .forward = gcn_forward,
    .backward = gcn_backward,
    .first_product = convolve_first_product,
    .one_product = convolve_one_product,
};

static int gcn_stack(struct model *model, const struct run *run) {
  return stack_alike(model, run, &gcn_layer);
}

const struct model_type gcn_model = {"gcn", gcn_stack};
