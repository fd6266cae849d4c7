/* hgnn: Z = P H W + b, P = D_v^-1/2 B W_e D_e^-1 B^T D_v^-1/2, B the incidence matrix, D the degrees of
 * vertices and the sizes of hyperedges (Feng et al. 2019). With model.edge_weights the diagonal W_e is
 * trained, from 1 and in each layer for itself; D_v stays that of weights 1:
 *   dW_e = (1 / size) (row e of B^T D_v^-1/2 H W) . (row e of B^T D_v^-1/2 dZ) */
#include "models/convolve.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"
#include "runtime/memory.h"

struct hgnn {
  int weight;         /* the parameter W_e */
  struct tensor sums; /* of hyperedges in the forward, dtype [own hyperedges, out] */
};

static int train_weights(struct model *model, struct run *run, struct layer *layer) {
  struct hgnn *hgnn = NULL;
  TRY(memory_alloc(&hgnn, (int64_t)sizeof *hgnn, "a layer"));
  layer->kept = hgnn;
  model->propagation.hyper.trains_weights = 1;
  return layer_add(model, run, layer, "edge_weight", 1, run->shard->hyper.hyperedges, START_ONE,
                   &hgnn->weight);
}

/* P W first where weights are trained: then every backward goes through P. */
static int hgnn_init(struct model *model, struct run *run, struct layer *layer) {
  int trains = run->config->model.edge_weights;
  model->propagation.weighting = WEIGHTING_HYPER_NORM;
  layer->keeps_product = trains;
  convolve_init(run, layer, trains);
  convolve_owns_dz(layer);
  TRY(layer_parameters(model, run, layer));
  return trains ? train_weights(model, run, layer) : OK;
}

static void hgnn_plan(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  struct hgnn *hgnn = layer->kept;
  (void)model;
  if (hgnn) hgnn->sums = arena_tensor(arena, run->kernels->dtype, run->shard->hyper.edges, layer->out);
}

/* P is shared: each pass of a layer sets its own weights, and where the sums of hyperedges are kept. */
static int use_weights(struct model *model, struct run *run, const struct layer *layer, struct tensor kept) {
  const struct hgnn *hgnn = layer->kept;
  struct propagation *p = &model->propagation;
  p->hyper.kept = kept;
  return hyper_set_weights(p, run, parameter_value(&model->parameters, run, hgnn->weight).data);
}

static int hgnn_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  const struct hgnn *hgnn = layer->kept;
  if (hgnn) TRY(use_weights(model, run, layer, hgnn->sums));
  TRY(convolve_forward(model, run, layer, layer_fused_end(layer), layer->z));
  return layer_rest(run, layer, training);
}

static int hgnn_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                         struct tensor residual, const struct update_backward *below) {
  const struct hgnn *hgnn = layer->kept;
  struct hyper_sums *hyper = &model->propagation.hyper;
  struct tensor dx = below ? below->dy : (struct tensor){0};
  struct tensor sums = tensor_narrowed(hyper->sums, layer->out);
  if (hgnn) TRY(use_weights(model, run, layer, sums));
  TRY(convolve_backward(model, run, layer, dz, dx, residual, below));
  if (!hgnn) return OK;
  struct incidence_weights_backward back = {
      .a = hgnn->sums,
      .b = sums,
      .id = hyper->edge_row,
      .scale = hyper->size_scale,
      .grad = parameter_gradient(&model->parameters, run, hgnn->weight).data,
      .count = run->shard->hyper.edges,
      .hyperedges = run->shard->hyper.hyperedges};
  return op_incidence_weights_backward(run->kernels, &back);
}

static const struct layer_ops hgnn_layer = {.uses_graph = 1,
                                            .in_place = 1,
                                            .init = hgnn_init,
                                            .plan = hgnn_plan,
                                            .forward = hgnn_forward,
                                            .backward = hgnn_backward,
                                            .first_product = convolve_first_product};

static int hgnn_stack(struct model *model, const struct run *run) {
  return stack_alike(model, run, &hgnn_layer);
}

const struct model_type hgnn_model = {"hgnn", hgnn_stack};
