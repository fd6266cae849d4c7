#include "models/convolve.h"

#include "models/model.h"
#include "runtime/error.h"

/* Numbers a row that cross the aggregation in a training step, forward and backward. The first layer needs no
 * gradient of its input, so aggregating first costs it one pass; and none when the aggregate is constant. */
static int cheaper_first(const struct layer *layer, int sparse) {
  int64_t aggregate_first = layer->index == 0 ? layer->in : 2 * layer->in, transform_first = 2 * layer->out;
  if (layer->keeps_product || (layer->index == 0 && sparse)) return 0;
  return layer->constant || aggregate_first < transform_first ||
         (aggregate_first == transform_first && (layer->index == 0 || layer->aggregate_ties));
}

void convolve_init(const struct run *run, struct layer *layer, int changes) {
  const struct config *config = run->config;
  int sparse = run->shard->sparse;
  layer->constant = layer->index == 0 && !changes && !sparse && config->runtime.once &&
                    config->model.dropout_input == 0;
  layer->aggregate_first = cheaper_first(layer, sparse);
  layer->ends_in_sum = !layer->aggregate_first;
  if (!layer->aggregate_first)
    layer->scratch = layer->exchange = layer->out;
  else if (layer->index > 0)
    layer->scratch = layer->in;
  if (layer->aggregate_first && !layer->constant) layer->exchange = layer->in;
}

/* The sums of a batch norm's backward are still to come. */
void convolve_owns_dz(struct layer *layer) {
  layer->dz_is_message = !layer->aggregate_first && layer->ending.norm != NORM_BATCH;
}

static struct tensor product_of(const struct model *model, const struct layer *layer) {
  return layer->keeps_product ? layer->product : tensor_narrowed(model->scratch, layer->out);
}

/* The end of H W: its rows are scaled as they are made, where they may be. NULL: they are not. */
static const struct update *message_of(const struct model *model, const struct run *run,
                                       struct layer *layer) {
  struct tensor product = product_of(model, layer);
  layer->message = (struct update){.z = product, .scale = model->propagation.forward.col_scale, .y = product};
  return layer->message.scale && layer_may_scale_product(layer, run) ? &layer->message : NULL;
}

int convolve_first_product(struct model *model, struct run *run, struct layer *layer, struct gemm *op) {
  *op = (struct gemm){.a = layer_input(model, layer),
                      .b = parameter_factor(&model->parameters, run, layer->weight),
                      .c = product_of(model, layer),
                      .update = message_of(model, run, layer)};
  return !layer->aggregate_first;
}

/* P (H W) */
static int aggregate_product(struct model *model, struct run *run, struct layer *layer,
                             const struct update *end, struct tensor z) {
  struct propagation *p = &model->propagation;
  struct tensor product = product_of(model, layer);
  const struct update *message = message_of(model, run, layer);
  const int plain = !message, begun = layer->begun;
  layer->begun = 0;
  if (!begun) TRY(layer_times_weight(model, run, layer, layer->weight, (struct tensor){0}, message, product));
  return plain ? propagate(p, run, &p->forward, product, end, z)
               : propagate_message(p, run, &p->forward, product, end, z);
}

int convolve_aggregate(struct model *model, struct run *run, struct layer *layer) {
  struct propagation *p = &model->propagation;
  if (layer->constant) return OK;
  return propagate(p, run, &p->forward, layer_input(model, layer), NULL, layer->aggregate);
}

int convolve_forward(struct model *model, struct run *run, struct layer *layer, const struct update *end,
                     struct tensor z) {
  if (layer->aggregate_first) {
    TRY(convolve_aggregate(model, run, layer));
    struct tensor w = parameter_factor(&model->parameters, run, layer->weight);
    struct gemm product = {.a = layer->aggregate, .b = w, .c = z, .update = end};
    product.next = layer_take_next(model, layer, end);
    if (z.data == layer->z.data) product.moments = layer_moments(layer);
    return op_gemm(run->kernels, &product);
  }
  return aggregate_product(model, run, layer, end, z);
}

int convolve_one_product(struct model *model, struct run *run, const struct layer *layer, struct tensor dz,
                         struct gemm *op) {
  *op = (struct gemm){.a = layer->aggregate, .transpose_a = 1, .b = dz};
  op->c = parameter_gradient(&model->parameters, run, layer->weight);
  return layer->aggregate_first;
}

/* dW = (P H)^T dZ, dH = P^T (dZ W^T). */
static int backward_of_aggregate(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                                 struct tensor dx, struct tensor residual,
                                 const struct update_backward *below) {
  struct propagation *p = &model->propagation;
  struct tensor product = tensor_narrowed(model->scratch, layer->in);
  struct gemm gradient;
  convolve_one_product(model, run, layer, dz, &gradient);
  TRY(op_gemm(run->kernels, &gradient));
  if (!dx.data) return OK;
  TRY(layer_input_gradient(model, run, layer->weight, dz, product, (struct tensor){0}, NULL));
  if (below && !residual.data)
    return propagate_below(p, run, &p->backward, product, (struct tensor){0}, below);
  struct update add = {.z = dx, .residual = residual, .y = dx};
  TRY(propagate(p, run, &p->backward, product, residual.data ? &add : NULL, dx));
  return below ? op_update_backward(run->kernels, below) : OK;
}

/* dT = P^T dZ, dW = H^T dT, dH = dT W^T. */
int convolve_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                      struct tensor dx, struct tensor residual, const struct update_backward *below) {
  struct propagation *p = &model->propagation;
  if (layer->aggregate_first) return backward_of_aggregate(model, run, layer, dz, dx, residual, below);
  struct tensor product = tensor_narrowed(model->scratch, layer->out);
  TRY((layer->dz_is_message ? propagate_message : propagate)(p, run, &p->backward, dz, NULL, product));
  return layer_gradients(model, run, layer, layer->weight, product, dx, residual, below);
}
