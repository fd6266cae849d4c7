/* agnn: Z_v = sum_u a_vu h_u, a_vu = softmax over the row of beta cos(h_v, h_u), with exactly one self loop a
 * node (Thekumparampil et al. 2018): propagations with one trained number each, between two linear layers.
 *
 * Forward, the halo carries h and 1 / |h|; backward also the gradient of Z and two numbers (struct
 * cosine_rows). A gradient comes to a node by arcs into it and out of it: in a symmetric graph the same pass
 * sees both. */
#include "kernels/attention.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"

/* In the model's scratch, one behind the other; forward a shorter message, and the sums of rows between two
 * parts where these would be rounded. */
struct pieces {
  struct tensor message, dx, dn, beta_grad;
};

/* In the backward several parts add to a node's gradients, of a directed graph on one rank too. */
static int adds_parts(const struct run *run) {
  return run->comm->size > 1 || run->shard->directed;
}

static int64_t gradient_cols(const struct run *run, int64_t width) {
  return adds_parts(run) ? message_reals(run->kernels, width) : message_elements(run->kernels, width);
}

static struct tensor take_gradient(const struct run *run, struct tensor *rest, int64_t width) {
  return adds_parts(run) ? tensor_take_reals(run->kernels, rest, width) : tensor_take(rest, width);
}

static struct pieces pieces_of(const struct model *model, const struct run *run, const struct layer *layer) {
  struct tensor rest = model->scratch;
  struct pieces pieces = {.message = tensor_take(&rest, cosine_message_cols(run->kernels, layer->out, 1))};
  pieces.dx = take_gradient(run, &rest, layer->out);
  pieces.dn = take_gradient(run, &rest, layer->out);
  pieces.beta_grad = tensor_take_reals(run->kernels, &rest, 1);
  return pieces;
}

static struct tensor forward_message(const struct model *model, const struct run *run,
                                     const struct layer *layer) {
  struct tensor rest = model->scratch;
  return tensor_take(&rest, cosine_message_cols(run->kernels, layer->out, 0));
}

static struct tensor forward_sums(const struct model *model, const struct run *run,
                                  const struct layer *layer) {
  const struct kernels *k = run->kernels;
  struct tensor rest = model->scratch;
  if (run->comm->size == 1 || k->dtype == k->real) return (struct tensor){0};
  tensor_take(&rest, cosine_message_cols(k, layer->out, 0));
  return tensor_take_reals(k, &rest, layer->out);
}

static int keeps_beta(const struct run *run, const struct layer *layer) {
  return layer->index == 1 && !run->config->model.learn_first_beta;
}

/* One that is not trained has no gradient, and no weight decay. */
static int add_beta(struct model *model, struct run *run, struct layer *layer) {
  struct parameters *p = &model->parameters;
  if (keeps_beta(run, layer)) p->group_begin = p->count;
  TRY(layer_add(model, run, layer, "beta", 1, 1, START_ONE, &layer->heads.beta));
  if (keeps_beta(run, layer)) p->group_end = p->count;
  return OK;
}

static int agnn_init(struct model *model, struct run *run, struct layer *layer) {
  TRY(heads_check(run));
  layer->keeps_z = 1;
  const struct kernels *k = run->kernels;
  layer->exchange = cosine_message_cols(k, layer->out, 1);
  layer->scratch = layer->exchange + 2 * gradient_cols(run, layer->out) + message_reals(k, 1);
  model->propagation.attends = 1;
  model->propagation.weighting = WEIGHTING_SUM;
  TRY(add_beta(model, run, layer));
  return layer_end_parameters(model, run, layer);
}

static void agnn_plan_inside(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  (void)model;
  layer->heads.log_sum = arena_tensor(arena, run->kernels->real, run->shard->own, 1);
}

/* What the parts of a pass need to know. */
struct pass {
  struct model *model;
  struct layer *layer;
  int arcs; /* backward */
};

static int attend(struct run *run, const struct direction *d, struct tensor message, int halo,
                  void *context) {
  const struct pass *pass = context;
  struct layer *layer = pass->layer;
  struct cosine_attention op = {
      .a = halo ? d->halo_part : d->own_part,
      .message = message,
      .rows = forward_message(pass->model, run, layer),
      .beta = parameter_value(&pass->model->parameters, run, layer->heads.beta).data,
      .self = !halo,
      .accumulate = halo,
      .unfinished = halo || run->comm->size == 1 ? NULL : d->unfinished,
      .log_sum = layer->heads.log_sum,
      .sums = forward_sums(pass->model, run, layer),
      .y = layer->z,
      .update = layer_fused_end(layer)};
  return op_cosine_attention(run->kernels, &op);
}

static int agnn_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  struct propagation *p = &model->propagation;
  struct tensor message = forward_message(model, run, layer);
  struct pass pass = {.model = model, .layer = layer};
  TRY(op_cosine_rows(run->kernels,
                     &(struct cosine_rows){.x = layer_input(model, layer), .message = message}));
  TRY(propagate_parts(p, run, &p->forward, message, attend, &pass));
  return layer_rest(run, layer, training);
}

static int attend_backward(struct run *run, const struct direction *d, struct tensor message, int halo,
                           void *context) {
  const struct pass *pass = context;
  const struct layer *layer = pass->layer;
  struct pieces pieces = pieces_of(pass->model, run, layer);
  struct cosine_backward op = {.a = halo ? d->halo_part : d->own_part,
                               .arcs = pass->arcs,
                               .message = message,
                               .rows = pieces.message,
                               .beta = parameter_value(&pass->model->parameters, run, layer->heads.beta).data,
                               .self = !halo,
                               .accumulate = halo || pass->arcs == COSINE_OUT,
                               .dx = pieces.dx,
                               .dn = pieces.dn,
                               .beta_grad = pieces.beta_grad};
  return op_cosine_backward(run->kernels, &op);
}

/* A directed graph has its arcs in and out in two shards: two passes, of which the first needs h alone. */
static int both_ways(struct model *model, struct run *run, struct layer *layer) {
  struct propagation *p = &model->propagation;
  struct tensor message = pieces_of(model, run, layer).message;
  struct pass in = {model, layer, COSINE_IN}, out = {model, layer, COSINE_OUT};
  struct pass both = {model, layer, COSINE_IN | COSINE_OUT};
  if (p->backward.borrowed) return propagate_parts(p, run, &p->backward, message, attend_backward, &both);
  struct tensor first = tensor_columns(message, 0, cosine_message_cols(run->kernels, layer->out, 0));
  TRY(propagate_parts(p, run, &p->forward, first, attend_backward, &in));
  return propagate_parts(p, run, &p->backward, message, attend_backward, &out);
}

static int agnn_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                         struct tensor residual, const struct update_backward *below) {
  struct pieces pieces = pieces_of(model, run, layer);
  struct cosine_rows rows = {.x = layer_input(model, layer),
                             .dz = dz,
                             .y = layer->z,
                             .log_sum = layer->heads.log_sum,
                             .message = pieces.message};
  struct column_sums sums = {.x = pieces.beta_grad,
                             .out = parameter_gradient(&model->parameters, run, layer->heads.beta).data};
  TRY(op_cosine_rows(run->kernels, &rows));
  TRY(both_ways(model, run, layer));
  if (!keeps_beta(run, layer)) TRY(op_column_sums(run->kernels, &sums));
  struct cosine_end end = {
      .message = pieces.message, .dx = pieces.dx, .dn = pieces.dn, .residual = residual, .y = below->dy};
  TRY(op_cosine_end(run->kernels, &end));
  return op_update_backward(run->kernels, below);
}

static const struct layer_ops agnn_layer = {.uses_graph = 1,
                                            .in_place = 1,
                                            .init = agnn_init,
                                            .plan_inside = agnn_plan_inside,
                                            .forward = agnn_forward,
                                            .backward = agnn_backward};

/* Hidden values are dropped once, behind the last propagation. */
static int agnn_stack(struct model *model, const struct run *run) {
  const struct config *config = run->config;
  int64_t layers = config->model.layers, hidden = config->model.hidden;
  struct layer_end first = stack_hidden(run), propagation = {.residual = config->model.residual};
  if (layers < 3)
    FAIL(BAD_INPUT, "model.layers = %lld: model.type = \"agnn\" has 3 or more, a linear one at each end",
         (long long)layers);
  TRY(stack_begin(model, layers));
  first.dropout = 0;
  stack_push(model, run, &mlp_layer, hidden, first);
  for (int64_t l = 1; l < layers - 1; l++) {
    if (l == layers - 2) propagation.dropout = config->model.dropout;
    stack_push(model, run, &agnn_layer, hidden, propagation);
  }
  stack_push(model, run, &mlp_layer, run->shard->classes, stack_last(run));
  return OK;
}

const struct model_type agnn_model = {"agnn", agnn_stack};
