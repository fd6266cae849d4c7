/* unigcnii: gcnii on a hypergraph, P H = d_i^-1/2 sum over the hyperedges e of i of d_e^-1/2 (mean of H over
 * e), d_e the mean degree of e's vertices (Huang and Yang 2021). */
#include "models/gcnii.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"

static int unigcnii_init(struct model *model, struct run *run, struct layer *layer) {
  TRY(gcnii_init(model, run, layer));
  model->propagation.weighting = WEIGHTING_HYPER_DEGREE;
  return OK;
}

static const struct layer_ops unigcnii_layer = {.uses_graph = 1,
                                                .in_place = 1,
                                                .init = unigcnii_init,
                                                .plan = gcnii_plan,
                                                .forward = gcnii_forward,
                                                .backward = gcnii_backward};

static int unigcnii_stack(struct model *model, const struct run *run) {
  return gcnii_stack_of(model, run, &unigcnii_layer);
}

const struct model_type unigcnii_model = {"unigcnii", unigcnii_stack};
