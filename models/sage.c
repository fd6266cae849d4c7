/* sage: Z = H W_self + P H W (Hamilton, Ying and Leskovec 2017). model.aggregator "mean": P is the mean over
 * the neighbours; "sum": their sum; "gcn": the mean over the neighbours and the node itself, and Z = P H W
 * alone; "max": models/sage_pool.c.
 *
 * With P H first Z is one product of two pairs of matrices, and with H W first it is what the aggregation
 * adds to; so is dH the other way round. */
#include "models/sage.h"
#include "models/convolve.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"
#include "runtime/memory.h"

static const enum weighting weightings[] = {
    [AGGREGATOR_MEAN] = WEIGHTING_MEAN,
    [AGGREGATOR_GCN] = WEIGHTING_SELF_MEAN,
    [AGGREGATOR_SUM] = WEIGHTING_SUM,
};

struct sage {
  int weight[2]; /* W, W_self */
};

/* Two matrices of so many columns in the scratch. */
static int64_t pair_width(const struct run *run, int64_t cols) {
  return 2 * tensor_stride(run->kernels->dtype, cols);
}

static void take_pair(const struct model *model, int64_t cols, struct tensor pair[2]) {
  struct tensor rest = model->scratch;
  for (int i = 0; i < 2; i++) pair[i] = tensor_take(&rest, cols);
}

static int sage_init(struct model *model, struct run *run, struct layer *layer) {
  enum aggregator aggregator = run->config->model.aggregator;
  struct sage *sage = NULL;
  model->propagation.weighting = weightings[aggregator];
  convolve_init(run, layer, 0);
  TRY(layer_parameters(model, run, layer));
  if (aggregator == AGGREGATOR_GCN) convolve_owns_dz(layer);
  if (aggregator == AGGREGATOR_GCN) return OK;
  TRY(memory_alloc(&sage, (int64_t)sizeof *sage, "a layer"));
  layer->kept = sage;
  layer->needs_input = 1;
  layer->pairs = layer->index > 0 && !layer->aggregate_first;
  if (layer->scratch > 0) layer->scratch = pair_width(run, layer->scratch);
  sage->weight[0] = layer->weight;
  return layer_add(model, run, layer, "self", layer->in, layer->out, START_GLOROT, &sage->weight[1]);
}

/* P (H W) + H W_self */
static int aggregate_product(struct model *model, struct run *run, struct layer *layer,
                             const struct update *end) {
  const struct sage *sage = layer->kept;
  struct propagation *p = &model->propagation;
  struct tensor product[2];
  take_pair(model, layer->out, product);
  for (int i = 0; i < 2; i++)
    TRY(layer_times_weight(model, run, layer, sage->weight[i], (struct tensor){0}, NULL, product[i]));
  return propagate_and_add(p, run, &p->forward, product[0], product[1], end, layer->z);
}

static int sage_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  const struct update *end = layer_fused_end(layer);
  const struct sage *sage = layer->kept;
  if (!sage) {
    TRY(convolve_forward(model, run, layer, end, layer->z));
  } else if (layer->aggregate_first) {
    TRY(convolve_aggregate(model, run, layer));
    TRY(layer_times_two(model, run, layer, layer->aggregate, sage->weight, end, layer->z));
  } else {
    TRY(aggregate_product(model, run, layer, end));
  }
  return layer_rest(run, layer, training);
}

/* dW = (P H)^T dZ, dW_self = H^T dZ, dH = P^T (dZ W^T) + dZ W_self^T */
static int backward_of_aggregate(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                                 struct tensor residual, const struct update_backward *below) {
  const struct sage *sage = layer->kept;
  struct propagation *p = &model->propagation;
  struct tensor product[2];
  struct gemm gradient;
  convolve_one_product(model, run, layer, dz, &gradient);
  TRY(op_gemm(run->kernels, &gradient));
  TRY(layer_weight_gradient(model, run, layer, sage->weight[1], dz));
  if (!below) return OK;
  take_pair(model, layer->in, product);
  for (int i = 0; i < 2; i++)
    TRY(layer_input_gradient(model, run, sage->weight[i], dz, product[i], (struct tensor){0}, NULL));
  if (!residual.data) return propagate_below(p, run, &p->backward, product[0], product[1], below);
  struct update add = {.z = below->dy, .residual = residual, .y = below->dy};
  TRY(propagate_and_add(p, run, &p->backward, product[0], product[1], &add, below->dy));
  return op_update_backward(run->kernels, below);
}

/* dT = P^T dZ, dW = H^T dT, dW_self = H^T dZ, dH = dT W^T + dZ W_self^T */
static int backward_of_product(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                               struct tensor residual, const struct update_backward *below) {
  const struct sage *sage = layer->kept;
  struct propagation *p = &model->propagation;
  struct tensor dy[2] = {tensor_narrowed(model->scratch, layer->out), dz};
  TRY(propagate(p, run, &p->backward, dz, NULL, dy[0]));
  return layer_two_gradients(model, run, layer, sage->weight, dy, below ? below->dy : (struct tensor){0},
                             residual, below);
}

static int sage_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                         struct tensor residual, const struct update_backward *below) {
  struct tensor dx = below ? below->dy : (struct tensor){0};
  if (!layer->kept) return convolve_backward(model, run, layer, dz, dx, residual, below);
  return (layer->aggregate_first ? backward_of_aggregate : backward_of_product)(model, run, layer, dz,
                                                                                residual, below);
}

/* With weights of its own for the node itself a layer begins with two products. */
static int sage_first_product(struct model *model, struct run *run, struct layer *layer, struct gemm *op) {
  return !layer->kept && convolve_first_product(model, run, layer, op);
}

static const struct layer_ops sage_layer = {.uses_graph = 1,
                                            .init = sage_init,
                                            .forward = sage_forward,
                                            .backward = sage_backward,
                                            .first_product = sage_first_product};

static int sage_stack(struct model *model, const struct run *run) {
  int pools = run->config->model.aggregator == AGGREGATOR_MAX;
  return stack_alike(model, run, pools ? &sage_pool_layer : &sage_layer);
}

const struct model_type sage_model = {"sage", sage_stack};
