/* gin: H' = MLP((1 + eps) H + A H), MLP = Linear, batch norm, ReLU, Linear (Xu, Hu, Leskovec and Jegelka
 * 2019).
 *
 * The sum and the first Linear are a convolution, Z = ((1 + eps) I + A) H W, whose end is the batch norm and
 * the ReLU (Z comes from a product, which finds the norm's moments along with it, unless eps is learned); the
 * second Linear is a layer of its own, as in mlp, and ends as model.* has it. eps is model.eps, or a number
 * of each layer that is trained from there on: d eps = sum of dZ times H W, element by element.
 */
#include "models/gin.h"

#include "models/convolve.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"
#include "runtime/memory.h"

struct gin {
  int eps; /* the parameter */
};

static int learn_eps(struct model *model, struct run *run, struct layer *layer) {
  struct gin *gin = NULL;
  TRY(memory_alloc(&gin, (int64_t)sizeof *gin, "a layer"));
  layer->kept = gin;
  TRY(layer_add(model, run, layer, "eps", 1, 1, START_VALUE, &gin->eps));
  model->parameters.list[gin->eps].value = run->config->model.eps;
  return OK;
}

int gin_init(struct model *model, struct run *run, struct layer *layer) {
  int learns = run->config->model.learn_eps;
  struct propagation *p = &model->propagation;
  p->weighting = WEIGHTING_SUM;
  p->loop = 1 + (learns ? 0 : run->config->model.eps);
  p->loop_changes = learns;
  layer->keeps_product = learns;
  layer->aggregate_ties = 1; /* products take more along at their ends than sums over neighbours */
  convolve_init(run, layer, learns);
  TRY(layer_parameters(model, run, layer));
  return learns ? learn_eps(model, run, layer) : OK;
}

/* P is shared: each pass of a layer sets what its own eps makes of it. */
static int set_loop(struct model *model, struct run *run, const struct gin *gin) {
  if (!gin) return OK;
  return propagation_set_loop(&model->propagation, run,
                              parameter_value(&model->parameters, run, gin->eps).data);
}

int gin_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  TRY(set_loop(model, run, layer->kept));
  TRY(convolve_forward(model, run, layer, layer_fused_end(layer), layer->z));
  return layer_rest(run, layer, training);
}

int gin_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                 struct tensor residual, const struct update_backward *below) {
  struct tensor dx = below ? below->dy : (struct tensor){0};
  const struct gin *gin = layer->kept;
  TRY(set_loop(model, run, layer->kept));
  if (gin) {
    struct tensor d_eps = parameter_gradient(&model->parameters, run, gin->eps);
    TRY(op_dot(run->kernels, &(struct dot){.a = dz, .b = layer->product, .out = d_eps.data}));
  }
  return convolve_backward(model, run, layer, dz, dx, residual, below);
}

static const struct layer_ops gin_layer = {.uses_graph = 1,
                                           .in_place = 1,
                                           .init = gin_init,
                                           .forward = gin_forward,
                                           .backward = gin_backward,
                                           .first_product = convolve_first_product};

static int gin_stack(struct model *model, const struct run *run) {
  const struct config *config = run->config;
  const struct layer_end inner = {.norm = NORM_BATCH, .activation = ACTIVATION_RELU};
  int64_t layers = config->model.layers;
  if (config->model.residual)
    FAIL(BAD_INPUT,
         "model.residual = true does not fit model.type = \"gin\", whose 1 + eps keeps the node itself");
  TRY(stack_begin(model, 2 * layers));
  model->first_end = 2;
  for (int64_t l = 0; l < layers; l++) {
    int last = l == layers - 1;
    stack_push(model, run, &gin_layer, config->model.hidden, inner);
    stack_push(model, run, &mlp_layer, last ? run->shard->classes : config->model.hidden,
               last ? stack_last(run) : stack_hidden(run));
  }
  return OK;
}

const struct model_type gin_model = {"gin", gin_stack};
