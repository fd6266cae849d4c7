/* gcnii: Z = ((1 - a) P H + a H0) ((1 - b) I + b W), b = log(lambda / l + 1) in convolution l, P as in gcn,
 * H0 the output of a linear layer below all convolutions; another one stands above them (Chen, Wei, Huang,
 * Ding and Li 2020).
 *
 * With M = (1 - a) ((1 - b) I + b W) this is S M, S = P H + a / (1 - a) H0: the initial residual is the end
 * of the aggregation, and the identity mapping costs no pass over the nodes. The halo carries H forward, the
 * gradient of S backward. */
#include "models/gcnii.h"

#include <assert.h>
#include <math.h>

#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"
#include "runtime/memory.h"

struct gcnii {
  struct tensor map; /* M */
  /* Of the first convolution, for all of them: */
  struct tensor initial;      /* a / (1 - a) H0 */
  struct tensor initial_grad; /* of `initial`, a sum over all convolutions, real */
  struct tensor input;        /* H0 after dropout; H0 itself goes to `initial` */
  struct add maps[];          /* what makes M of every convolution */
};

static struct gcnii *first_of(const struct model *model) {
  return model->layer[1].kept;
}

/* The layers but for the linear ones below and above. */
static int convolutions_of(const struct model *model) {
  return model->layers - 2;
}

static double initial_share(const struct run *run) {
  double alpha = run->config->model.alpha;
  return alpha / (1 - alpha);
}

/* Share of the weight in a layer's M, and of the identity. */
static double weight_share(const struct run *run, const struct layer *layer) {
  return (1 - run->config->model.alpha) * log(run->config->model.lambda / layer->index + 1);
}

static double identity_share(const struct run *run, const struct layer *layer) {
  return 1 - run->config->model.alpha - weight_share(run, layer);
}

int gcnii_init(struct model *model, struct run *run, struct layer *layer) {
  struct parameters *p = &model->parameters;
  double decay = run->config->train.weight_decay_convolutions;
  struct gcnii *gcnii = NULL;
  int maps = layer->index == 1 ? convolutions_of(model) : 0;
  model->propagation.weighting = WEIGHTING_GCN;
  layer->aggregate_first = 1;
  layer->scratch = layer->exchange = layer->in;
  TRY(memory_alloc(&gcnii, (int64_t)sizeof *gcnii + maps * (int64_t)sizeof *gcnii->maps, "a layer"));
  layer->kept = gcnii;
  if (layer->index == 1) p->group_begin = p->group_end = p->count;
  TRY(layer_parameters(model, run, layer));
  p->group_decay = decay;
  if (decay >= 0) p->group_end = p->count;
  return OK;
}

void gcnii_plan(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  (void)model;
  struct gcnii *gcnii = layer->kept;
  enum dtype dtype = run->kernels->dtype;
  int64_t own = run->shard->own;
  gcnii->map = arena_tensor(arena, dtype, layer->in, layer->out);
  if (layer->index > 1) return;
  gcnii->initial = arena_tensor(arena, dtype, own, layer->in);
  gcnii->initial_grad = arena_tensor(arena, run->kernels->real, own, layer->in);
  if (run->config->model.dropout > 0) gcnii->input = arena_tensor(arena, dtype, own, layer->in);
}

/* Of the first convolution's input. */
static struct dropout dropout_of_initial(const struct model *model, const struct run *run, int training) {
  struct philox_key key = run_key(run, 0, RANDOM_DROPOUT_HIDDEN);
  return dropout_of(training ? run->config->model.dropout : 0, key, model->id);
}

/* M of all convolutions. */
static int make_maps(struct model *model, struct run *run) {
  struct gcnii *first = first_of(model);
  for (int i = 0; i < convolutions_of(model); i++) {
    const struct layer *layer = &model->layer[1 + i];
    const struct gcnii *gcnii = layer->kept;
    first->maps[i] = (struct add){.x = parameter_value(&model->parameters, run, layer->weight),
                                  .factor = weight_share(run, layer),
                                  .diagonal = identity_share(run, layer),
                                  .y = gcnii->map};
  }
  return op_add_all(run->kernels, first->maps, convolutions_of(model));
}

/* H0's share for all convolutions, and *x, what the first one propagates. */
static int begin(struct model *model, struct run *run, int training, struct tensor *x) {
  struct gcnii *first = first_of(model);
  struct tensor h0 = *x;
  struct dropout dropout = dropout_of_initial(model, run, training);
  TRY(op_add(run->kernels, &(struct add){.x = h0, .factor = initial_share(run), .y = first->initial}));
  if (dropout.threshold == 0) return OK;
  *x = first->input;
  return op_dropout(run->kernels, h0, &dropout, first->input);
}

int gcnii_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  struct propagation *p = &model->propagation;
  const struct gcnii *gcnii = layer->kept;
  struct tensor x = layer_input(model, layer), s = layer->aggregate;
  if (layer->index == 1) TRY(make_maps(model, run));
  if (layer->index == 1) TRY(begin(model, run, training, &x));
  struct update initial = {.z = s, .residual = first_of(model)->initial, .y = s};
  TRY(propagate(p, run, &p->forward, x, &initial, s));
  struct gemm product = {.a = s, .b = gcnii->map, .c = layer->z, .update = layer_fused_end(layer)};
  TRY(op_gemm(run->kernels, &product));
  return layer_rest(run, layer, training);
}

/* dM = S^T dZ, dW = (1 - a) b dM */
static int weight_gradient(struct model *model, struct run *run, struct layer *layer, struct tensor dz) {
  const double share = weight_share(run, layer);
  struct gemm op = {.a = layer->aggregate, .transpose_a = 1, .b = dz, .factor = &share};
  op.c = parameter_gradient(&model->parameters, run, layer->weight);
  return op_gemm(run->kernels, &op);
}

/* Of H0, through the first convolution's input and all initial residuals. */
static int initial_gradient(struct model *model, struct run *run, struct tensor ds, struct tensor dx) {
  struct propagation *p = &model->propagation;
  struct update through = {.z = dx, .dropout = dropout_of_initial(model, run, 1), .y = dx};
  TRY(propagate(p, run, &p->backward, ds, &through, dx));
  return op_add(run->kernels, &(struct add){.x = first_of(model)->initial_grad,
                                            .factor = initial_share(run),
                                            .accumulate = 1,
                                            .y = dx});
}

/* dS = dZ M^T, dH = P^T dS */
int gcnii_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                   struct tensor residual, const struct update_backward *below) {
  struct propagation *p = &model->propagation;
  const struct gcnii *gcnii = layer->kept;
  struct tensor ds = tensor_narrowed(model->scratch, layer->in);
  struct add sum = {.x = ds, .factor = 1, .y = first_of(model)->initial_grad};
  assert(!residual.data && below);
  sum.accumulate = layer->index < model->layers - 2;
  TRY(weight_gradient(model, run, layer, dz));
  TRY(op_gemm(run->kernels, &(struct gemm){.a = dz, .b = gcnii->map, .transpose_b = 1, .c = ds}));
  TRY(op_add(run->kernels, &sum));
  if (layer->index > 1) return propagate_below(p, run, &p->backward, ds, (struct tensor){0}, below);
  TRY(initial_gradient(model, run, ds, below->dy));
  return op_update_backward(run->kernels, below);
}

static const struct layer_ops gcnii_layer = {.uses_graph = 1,
                                             .in_place = 1,
                                             .init = gcnii_init,
                                             .plan = gcnii_plan,
                                             .forward = gcnii_forward,
                                             .backward = gcnii_backward};

/* H0 is dropped on its way into the first convolution alone. */
int gcnii_stack_of(struct model *model, const struct run *run, const struct layer_ops *convolution_ops) {
  const struct config *config = run->config;
  int64_t hidden = config->model.hidden;
  struct layer_end first = stack_hidden(run), convolution = stack_hidden(run);
  if (config->model.residual)
    FAIL(BAD_INPUT,
         "model.residual = true does not fit model.type = \"%s\", which has the initial residual "
         "model.alpha",
         config->model.type);
  first.dropout = 0;
  convolution.bias = 0;
  TRY(stack_begin(model, config->model.layers + 2));
  stack_push(model, run, &mlp_layer, hidden, first);
  for (int64_t l = 0; l < config->model.layers; l++)
    stack_push(model, run, convolution_ops, hidden, convolution);
  stack_push(model, run, &mlp_layer, run->shard->classes, stack_last(run));
  return OK;
}

static int gcnii_stack(struct model *model, const struct run *run) {
  return gcnii_stack_of(model, run, &gcnii_layer);
}

const struct model_type gcnii_model = {"gcnii", gcnii_stack};
