/* gcn: Z = P H W, P = D~^-1/2 (A + I) D~^-1/2 (Kipf and Welling 2017), in the cheaper of two orders:
 * P (H W) aggregates rows of `out` numbers, (P H) W rows of `in`. */
#include "models/model.h"
#include "runtime/error.h"

/* Numbers a row that cross the aggregation in a training step, forward and backward. The first layer needs no
 * gradient of its input, so aggregating first costs it one pass; and none when the aggregate is constant. */
static int cheaper_first(const struct layer *layer, int sparse) {
  int64_t aggregate_first = layer->index == 0 ? layer->in : 2 * layer->in, transform_first = 2 * layer->out;
  if (layer->index == 0 && sparse) return 0;
  return layer->constant ||
         (layer->index == 0 ? aggregate_first <= transform_first : aggregate_first < transform_first);
}

static int gcn_init(struct model *model, struct run *run, struct layer *layer) {
  const struct config *config = run->config;
  int sparse = run->shard->sparse;
  layer->constant = layer->index == 0 && !sparse && config->runtime.once && config->model.dropout_input == 0;
  layer->aggregate_first = cheaper_first(layer, sparse);
  return layer_parameters(model, run, layer);
}

static int gcn_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  struct propagation *p = &model->propagation;
  const struct update *end = layer_fused_end(layer);
  if (layer->aggregate_first) {
    if (!layer->constant)
      TRY(propagate(p, run, &p->forward, layer_input(model, layer), NULL, layer->aggregate));
    struct tensor w = parameter_factor(&model->parameters, run, layer->weight);
    TRY(op_gemm(run->kernels, &(struct gemm){.a = layer->aggregate, .b = w, .c = layer->z, .update = end}));
  } else {
    struct tensor product = tensor_narrowed(model->scratch, layer->out);
    TRY(layer_times_weight(model, run, layer, NULL, product));
    TRY(propagate(p, run, &p->forward, product, end, layer->z));
  }
  return layer_rest(run, layer, training);
}

/* Aggregating first: dW = (P H)^T dZ, dH = P^T (dZ W^T). Transforming first: dT = P^T dZ, dW = H^T dT, dH =
 * dT W^T. */
static int gcn_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                        struct tensor residual, const struct update_backward *below) {
  struct propagation *p = &model->propagation;
  struct tensor product = tensor_narrowed(model->scratch, layer->aggregate_first ? layer->in : layer->out);
  if (!layer->aggregate_first) {
    TRY(propagate(p, run, &p->backward, dz, NULL, product));
    TRY(layer_weight_gradient(model, run, layer, product));
    return below ? layer_input_gradient(model, run, layer, product, below->dy, residual, below) : OK;
  }
  struct tensor dw = parameter_gradient(&model->parameters, run, layer->weight);
  TRY(op_gemm(run->kernels, &(struct gemm){.a = layer->aggregate, .transpose_a = 1, .b = dz, .c = dw}));
  if (!below) return OK;
  TRY(layer_input_gradient(model, run, layer, dz, product, (struct tensor){0}, NULL));
  struct update add = {.z = below->dy, .residual = residual, .y = below->dy};
  TRY(propagate(p, run, &p->backward, product, residual.data ? &add : NULL, below->dy));
  return op_update_backward(run->kernels, below);
}

const struct layer_ops gcn_layer = {.name = "gcn",
                                    .uses_graph = 1,
                                    .in_place = 1,
                                    .init = gcn_init,
                                    .forward = gcn_forward,
                                    .backward = gcn_backward};
