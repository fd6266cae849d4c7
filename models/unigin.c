/* unigin: Z = ((1 + eps) H + B B^T H) W + b, sums over hyperedges and back to their vertices (Huang and Yang
 * 2021). eps as in gin. */
#include "models/gin.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"

static int unigin_init(struct model *model, struct run *run, struct layer *layer) {
  TRY(gin_init(model, run, layer));
  model->propagation.weighting = WEIGHTING_HYPER_SUM;
  return OK;
}

static const struct layer_ops unigin_layer = {
    .uses_graph = 1, .in_place = 1, .init = unigin_init, .forward = gin_forward, .backward = gin_backward};

static int unigin_stack(struct model *model, const struct run *run) {
  return stack_alike(model, run, &unigin_layer);
}

const struct model_type unigin_model = {"unigin", unigin_stack};
