/* gat: Z_v = sum_u a_vu (W h_u) in each of several heads, a_vu = softmax over the row of
 * LeakyReLU_.2(a_l . W h_u + a_r . W h_v), with exactly one self loop a node (Velickovic et al. 2018). Hidden
 * layers put the heads side by side, the last one takes their mean.
 *
 * Forward, the halo carries W h and a_l . W h. Backward it carries the gradient of Z and three numbers a head
 * from which the coefficients follow (struct attention_rows). */
#include "kernels/attention.h"
#include "models/model.h"
#include "models/stack.h"
#include "runtime/error.h"

/* In the model's scratch in the backward, one behind the other. */
struct gradients {
  struct tensor product;     /* of H W */
  struct tensor message;     /* see struct attention_rows */
  struct tensor left, right; /* of the terms */
  struct tensor sums;        /* of the product, between two parts; or absent */
};

static int64_t width_of(const struct layer *layer) {
  return layer->heads.count * layer->heads.width;
}

static struct tensor product_of(const struct layer *layer) {
  return tensor_columns(layer->heads.message, 0, width_of(layer));
}

static struct tensor left_of(const struct run *run, const struct layer *layer) {
  return tensor_reals(run->kernels, layer->heads.message, message_elements(run->kernels, width_of(layer)),
                      layer->heads.count);
}

/* Whether sums of rows with arcs in both parts would be rounded in between. */
static int keeps_sums(const struct run *run) {
  return run->comm->size > 1 && run->kernels->dtype != run->kernels->real;
}

static struct gradients gradients_of(const struct model *model, const struct run *run,
                                     const struct layer *layer) {
  const struct kernels *k = run->kernels;
  int64_t width = width_of(layer), count = layer->heads.count;
  struct tensor rest = model->scratch;
  struct gradients grad = {.product = tensor_take(&rest, width),
                           .message = tensor_take(&rest, attention_message_cols(k, layer->out, count))};
  grad.left = tensor_take_reals(k, &rest, count);
  grad.right = tensor_take_reals(k, &rest, count);
  if (keeps_sums(run)) grad.sums = tensor_take_reals(k, &rest, width);
  return grad;
}

/* In the same place in the forward. */
static struct tensor sums_of(const struct model *model, const struct run *run, const struct layer *layer) {
  struct tensor rest = model->scratch;
  if (!keeps_sums(run)) return (struct tensor){0};
  return tensor_take_reals(run->kernels, &rest, attention_sums_cols(run->kernels, width_of(layer)));
}

static int gat_init(struct model *model, struct run *run, struct layer *layer) {
  const struct kernels *k = run->kernels;
  struct heads *heads = &layer->heads;
  TRY(heads_check(run));
  heads->count = layer->last ? run->config->model.heads_last : run->config->model.heads;
  heads->width = layer->last ? layer->out : layer->out / heads->count;
  int64_t width = width_of(layer), terms = message_reals(k, heads->count);
  int64_t message = attention_message_cols(k, layer->out, heads->count);
  layer->keeps_z = !layer->last;
  layer->exchange = message_elements(k, width) + terms;
  if (message > layer->exchange) layer->exchange = message;
  layer->scratch = message_elements(k, width) + message + 2 * terms;
  if (keeps_sums(run)) {
    int64_t forward = message_reals(k, attention_sums_cols(k, width));
    layer->scratch += message_reals(k, width);
    if (forward > layer->scratch) layer->scratch = forward;
  }
  model->propagation.weighting = WEIGHTING_SUM;
  model->propagation.attends = 1;
  model->propagation.wants_ids = run->config->model.dropout_attention > 0;

  TRY(layer_add(model, run, layer, "weight", layer->in, width, START_GLOROT, &layer->weight));
  TRY(layer_add(model, run, layer, "left", heads->count, heads->width, START_GLOROT, &heads->left));
  TRY(layer_add(model, run, layer, "right", heads->count, heads->width, START_GLOROT, &heads->right));
  return layer_end_parameters(model, run, layer);
}

/* Side by side the heads are z itself. */
static void gat_plan_inside(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  (void)model;
  const struct kernels *k = run->kernels;
  struct heads *heads = &layer->heads;
  int64_t own = run->shard->own, width = width_of(layer);
  heads->message = arena_tensor(arena, k->dtype, own,
                                message_elements(k, width) + message_reals(k, heads->count));
  heads->right_term = arena_tensor(arena, k->real, own, heads->count);
  heads->y = layer->last ? arena_tensor(arena, k->dtype, own, width) : layer->z;
  heads->positive = arena_tensor(arena, k->dtype, own, width);
  heads->share = arena_tensor(arena, k->real, own, heads->count);
  heads->log_sum = arena_tensor(arena, k->real, own, heads->count);
}

static struct attention_terms terms_of(struct model *model, struct run *run, const struct layer *layer) {
  return (struct attention_terms){.x = product_of(layer),
                                  .l = parameter_value(&model->parameters, run, layer->heads.left),
                                  .r = parameter_value(&model->parameters, run, layer->heads.right),
                                  .left = left_of(run, layer),
                                  .right = layer->heads.right_term};
}

/* What the parts of a pass need to know. */
struct pass {
  struct model *model;
  struct layer *layer;
  int training;
};

static struct dropout dropout_in(const struct pass *pass, const struct run *run) {
  struct philox_key key = run_key(run, pass->layer->index, RANDOM_DROPOUT_ATTENTION);
  return dropout_of(pass->training ? run->config->model.dropout_attention : 0, key, pass->model->id);
}

static int attend(struct run *run, const struct direction *d, struct tensor message, int halo,
                  void *context) {
  const struct pass *pass = context;
  const struct kernels *k = run->kernels;
  struct layer *layer = pass->layer;
  struct heads *heads = &layer->heads;
  int64_t width = width_of(layer);
  struct attention op = {.a = halo ? d->halo_part : d->own_part,
                         .heads = heads->count,
                         .x = tensor_columns(message, 0, width),
                         .term = tensor_reals(k, message, message_elements(k, width), heads->count),
                         .row_term = heads->right_term,
                         .dropout = dropout_in(pass, run),
                         .col_id = halo ? d->halo_id : pass->model->id,
                         .unfinished = halo || run->comm->size == 1 ? NULL : d->unfinished,
                         .accumulate = halo,
                         .log_sum = heads->log_sum,
                         .sums = sums_of(pass->model, run, layer),
                         .y = heads->y,
                         .update = layer_fused_end(layer)};
  if (layer->last) op.mean = layer->z;
  if (!halo) op.self = op.x, op.self_term = op.term;
  if (pass->training) op.positive = heads->positive, op.share = heads->share;
  return op_attention(run->kernels, &op);
}

static int gat_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  struct propagation *p = &model->propagation;
  struct attention_terms terms = terms_of(model, run, layer);
  struct pass pass = {model, layer, training};
  TRY(layer_times_weight(model, run, layer, layer->weight, (struct tensor){0}, NULL, product_of(layer)));
  TRY(op_attention_terms(run->kernels, &terms));
  TRY(propagate_parts(p, run, &p->forward, layer->heads.message, attend, &pass));
  return layer_rest(run, layer, training);
}

static int attend_backward(struct run *run, const struct direction *d, struct tensor message, int halo,
                           void *context) {
  const struct pass *pass = context;
  const struct layer *layer = pass->layer;
  struct gradients grad = gradients_of(pass->model, run, layer);
  const struct parameters *parameters = &pass->model->parameters;
  struct attention_backward op = {.a = halo ? d->halo_part : d->own_part,
                                  .heads = layer->heads.count,
                                  .message = message,
                                  .out = layer->out,
                                  .x = product_of(layer),
                                  .term = left_of(run, layer),
                                  .dropout = dropout_in(pass, run),
                                  .col_id = halo ? d->halo_id : pass->model->id,
                                  .accumulate = halo,
                                  .unfinished = halo || run->comm->size == 1 ? NULL : d->unfinished,
                                  .l = parameter_value(parameters, run, layer->heads.left),
                                  .r = parameter_value(parameters, run, layer->heads.right),
                                  .row_term_grad = grad.right,
                                  .sums = grad.sums,
                                  .dx = grad.product,
                                  .term_grad = grad.left};
  if (!halo) op.self = message;
  return op_attention_backward(run->kernels, &op);
}

/* Gradients of H W and of both terms, over all arcs of this rank's nodes. */
static int product_gradient(struct model *model, struct run *run, struct layer *layer, struct tensor dz) {
  const struct heads *heads = &layer->heads;
  struct propagation *p = &model->propagation;
  struct gradients grad = gradients_of(model, run, layer);
  struct attention_rows rows = {.heads = heads->count,
                                .dz = dz,
                                .row_term = heads->right_term,
                                .log_sum = heads->log_sum,
                                .share = heads->share,
                                .y = heads->y,
                                .positive = heads->positive,
                                .message = grad.message,
                                .row_term_grad = grad.right};
  struct pass pass = {model, layer, 1};
  TRY(op_attention_rows(run->kernels, &rows));
  return propagate_parts(p, run, &p->backward, grad.message, attend_backward, &pass);
}

/* d(HW) through values and terms, then dW = H^T d(HW), dH = d(HW) W^T. */
static int gat_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                        struct tensor residual, const struct update_backward *below) {
  struct gradients grad = gradients_of(model, run, layer);
  struct attention_terms_backward back = {
      .x = product_of(layer),
      .left_grad = grad.left,
      .right_grad = grad.right,
      .l_grad = parameter_gradient(&model->parameters, run, layer->heads.left),
      .r_grad = parameter_gradient(&model->parameters, run, layer->heads.right)};
  TRY(product_gradient(model, run, layer, dz));
  TRY(op_attention_terms_backward(run->kernels, &back));
  struct tensor dx = below ? below->dy : (struct tensor){0};
  return layer_gradients(model, run, layer, layer->weight, grad.product, dx, residual, below);
}

static const struct layer_ops gat_layer = {.uses_graph = 1,
                                           .in_place = 1,
                                           .init = gat_init,
                                           .plan_inside = gat_plan_inside,
                                           .forward = gat_forward,
                                           .backward = gat_backward};

static int gat_stack(struct model *model, const struct run *run) {
  const struct config *config = run->config;
  long long hidden = config->model.hidden, heads = config->model.heads;
  if (config->model.layers > 1 && hidden % heads != 0)
    FAIL(BAD_INPUT, "model.hidden = %lld does not divide into model.heads = %lld heads; choose a multiple",
         hidden, heads);
  return stack_alike(model, run, &gat_layer);
}

const struct model_type gat_model = {"gat", gat_stack};
