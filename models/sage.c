/* sage: Z = H W_self + P H W (Hamilton, Ying and Leskovec 2017). model.aggregator "mean": P is the mean over
 * the neighbours; "sum": their sum; "gcn": the mean over the neighbours and the node itself, and Z = P H W
 * alone; "max": models/sage_pool.c. */
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
  int self; /* W_self */
  struct tensor
      sum; /* P H W, to which H W_self is added: z, or real where sparse features add to a narrower z */
};

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
  return layer_add(model, run, layer, "self", layer->in, layer->out, START_GLOROT, &sage->self);
}

static void sage_plan(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  (void)model;
  struct sage *sage = layer->kept;
  enum dtype real = run->kernels->real;
  if (!sage) return;
  sage->sum = layer->z;
  if (layer->index == 0 && run->shard->sparse && layer->z.dtype != real)
    sage->sum = arena_tensor(arena, real, run->shard->own, layer->out);
}

static int sage_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  const struct update *end = layer_fused_end(layer);
  const struct sage *sage = layer->kept;
  if (sage) {
    TRY(convolve_forward(model, run, layer, NULL, sage->sum));
    TRY(layer_times_weight(model, run, layer, sage->self, sage->sum, end, layer->z));
  } else {
    TRY(convolve_forward(model, run, layer, end, layer->z));
  }
  return layer_rest(run, layer, training);
}

/* dW_self = H^T dZ, dH = P^T (dZ W^T) + dZ W_self^T */
static int sage_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                         struct tensor residual, const struct update_backward *below) {
  struct tensor dx = below ? below->dy : (struct tensor){0};
  const struct sage *sage = layer->kept;
  if (!sage) return convolve_backward(model, run, layer, dz, dx, residual, below);
  TRY(layer_weight_gradient(model, run, layer, sage->self, dz));
  TRY(convolve_backward(model, run, layer, dz, dx, residual, NULL));
  return below ? layer_input_gradient(model, run, sage->self, dz, dx, dx, below) : OK;
}

static const struct layer_ops sage_layer = {.uses_graph = 1,
                                            .init = sage_init,
                                            .plan = sage_plan,
                                            .forward = sage_forward,
                                            .backward = sage_backward};

static int sage_stack(struct model *model, const struct run *run) {
  int pools = run->config->model.aggregator == AGGREGATOR_MAX;
  return stack_alike(model, run, pools ? &sage_pool_layer : &sage_layer);
}

const struct model_type sage_model = {"sage", sage_stack};
