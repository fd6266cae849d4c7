#include "models/model.h"

#include <math.h>
#include <stdlib.h>

#include "models/stack.h"
#include "runtime/error.h"
#include "runtime/profile.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t widest(const struct model *model) {
  int64_t width = 1;
  for (int l = 0; l < model->layers; l++) width = larger(width, model->layer[l].out);
  return width;
}

enum { LEAST_PANEL = 64 };

/* Width of what passes through model->scratch in an epoch. */
static int64_t widest_scratch(const struct model *model) {
  int64_t width = 1;
  for (int l = 0; l < model->layers; l++) width = larger(width, model->layer[l].scratch);
  return width;
}

/* Columns that are aggregated at a time where the input is aggregated once: panels begin where rows may. */
static int64_t panel_width(const struct model *model) {
  int64_t in = model->layer[0].in, most = larger(widest_scratch(model), LEAST_PANEL);
  int64_t whole = most / ROW_BYTES * ROW_BYTES;
  return in < most ? in : whole > 0 ? whole : most;
}

/* Panels of features that are nowhere else on the device pass through the scratch as well. */
static int64_t scratch_width(const struct model *model) {
  int panels = model->features.once && !model->features.borrowed;
  return panels ? larger(widest_scratch(model), panel_width(model)) : widest_scratch(model);
}

/* Which of two buffers holds the gradient of a layer's output: the last layer's is in the first; below a
 * layer that works in place it stays, below another one it changes over. */
static int grad_of(const struct model *model, int l) {
  int buffer = 0;
  for (int above = model->layers - 1; above > l; above--) buffer ^= !model->layer[above].ops->in_place;
  return buffer;
}

static int64_t grad_width(const struct model *model, int buffer) {
  int64_t width = 0;
  for (int l = 0; l < model->layers; l++)
    if (grad_of(model, l) == buffer) width = larger(width, model->layer[l].out);
  return width;
}

/* The widest row that is aggregated in every epoch. */
static int64_t widest_aggregate(const struct model *model) {
  int64_t width = 1;
  for (int l = 0; l < model->layers; l++) width = larger(width, model->layer[l].exchange);
  return width;
}

/* The widest row that is exchanged: in an epoch, and as a panel of what is aggregated once. */
static int64_t widest_exchange(const struct model *model) {
  int64_t width = widest_aggregate(model);
  return model->layer[0].constant ? larger(width, panel_width(model)) : width;
}

/* Scratch of sparse products, which is not always largest for the widest rows: narrow ones may be copied. */
static int64_t product_workspace(const struct model *model, const struct run *run) {
  const struct propagation *p = &model->propagation;
  int64_t most = 0, each = panel_width(model), in = model->layer[0].in;
  for (int l = 0; l < model->layers; l++) {
    const struct layer *layer = &model->layer[l];
    int both = layer->dz_is_message && layer_may_scale_product(layer, run);
    most = larger(most, propagation_workspace(p, run, layer->exchange, both));
  }
  if (!model->layer[0].constant) return most;
  int message = model->features.once && !model->features.borrowed; /* panels, see aggregate_panel */
  most = larger(most, propagation_workspace(p, run, each, message));
  return larger(most, propagation_workspace(p, run, in % each ? in % each : each, message));
}

/* And that of the weights' gradients: those of the first two layers may be made at once, or two of a layer.
 */
static int64_t gradient_workspace(const struct model *model, const struct run *run) {
  int64_t most = 0, below = 0;
  for (int l = 0; l < model->layers; l++) {
    int64_t mine = gemm_workspace(run->kernels, model->layer[l].in, model->layer[l].out);
    most = larger(most, larger(mine + (l == 1 ? below : 0), model->layer[l].pairs ? 2 * mine : 0));
    below = mine;
  }
  return most;
}

static int has_residuals(const struct model *model) {
  for (int l = 0; l < model->layers; l++) {
    if (layer_has_residual(&model->layer[l])) return 1;
  }
  return 0;
}

static int64_t used_inside(struct model *model, struct run *run, struct arena *arena, int l) {
  struct layer *layer = &model->layer[l];
  int64_t begun = arena->used;
  if (layer->keeps_z) layer_plan_z(run, layer, arena);
  layer_plan_inside(model, run, layer, arena);
  return arena->used - begun;
}

/* With train.recompute a layer's z, and what it lays out inside, last until another layer's come to the same
 * place: z, which is read no more once a backward has come to the gradient of it, is in one place for all;
 * what a layer's own backward reads, while the layer below has its forward again, is in two places by turns.
 */
static void plan_shared(struct model *model, struct run *run, struct arena *arena) {
  int64_t begun = arena->used, most = begun;
  for (int l = 0; l < model->layers; l++) {
    struct layer *layer = &model->layer[l];
    if (layer->keeps_z) continue;
    arena->used = begun;
    layer_plan_z(run, layer, arena);
    layer->recomputed = arena->used > begun;
    most = larger(most, arena->used);
  }
  for (int turn = 0; turn < 2; turn++) {
    begun = most;
    for (int l = turn; l < model->layers; l += 2) {
      arena->used = begun;
      if (used_inside(model, run, arena, l) > 0) model->layer[l].recomputed = 1;
      most = larger(most, arena->used);
    }
  }
  arena->used = most;
  /* Nothing comes to the places of the topmost two before their backward. */
  for (int l = model->layers < 2 ? 0 : model->layers - 2; l < model->layers; l++)
    model->layer[l].recomputed = 0;
}

static void plan_layers(struct model *model, struct run *run, struct arena *arena) {
  for (int l = 0; l < model->layers; l++) layer_plan(run, &model->layer[l], arena);
  if (run->config->train.recompute == RECOMPUTE_LAYER) {
    plan_shared(model, run, arena);
  } else {
    for (int l = 0; l < model->layers; l++) {
      layer_plan_z(run, &model->layer[l], arena);
      layer_plan_inside(model, run, &model->layer[l], arena);
    }
  }
  for (int l = 0; l < model->layers; l++)
    if (model->layer[l].ops->plan) model->layer[l].ops->plan(model, run, &model->layer[l], arena);
}

/* Lays out every buffer; called once to measure and once over the allocated block. */
static int plan(struct model *model, struct run *run) {
  struct arena *arena = &model->arena;
  enum dtype dtype = run->kernels->dtype;
  int64_t own = run->shard->own, width = widest(model);
  parameters_plan(&model->parameters, run, arena);
  model->id = arena_take(arena, own * (int64_t)sizeof *model->id);
  features_plan(&model->features, run, arena);
  if (model->uses_graph) TRY(propagation_plan(&model->propagation, run, arena, widest_exchange(model)));
  plan_layers(model, run, arena);
  if (model->uses_graph) model->scratch = arena_tensor(arena, dtype, own, scratch_width(model));
  for (int i = 0; i < 2; i++) model->grad[i] = arena_tensor(arena, dtype, own, grad_width(model, i));
  if (has_residuals(model)) model->grad[2] = arena_tensor(arena, dtype, own, width);
  model->sums = arena_take(arena, 2 * width * dtype_bytes(run->kernels->real));
  return OK;
}

static int init_layers(struct model *model, struct run *run) {
  for (int l = 0; l < model->layers; l++) {
    struct layer *layer = &model->layer[l];
    layer->last = l == model->layers - 1;
    TRY(layer->ops->init(model, run, layer));
    model->uses_graph |= layer->ops->uses_graph;
    if (l < model->first_end || !run->config->train.weight_decay_first_only)
      model->parameters.decay_end = model->parameters.count;
  }
  return OK;
}

int model_init(struct model *model, struct run *run) {
  *model = (struct model){0};
  const struct model_type *type = NULL;
  TRY(stack_type(run->config->model.type, &type));
  TRY(type->stack(model, run));
  TRY(init_layers(model, run));
  const struct layer *first = &model->layer[0];
  TRY(features_init(&model->features, run, first->constant && !first->needs_input));
  if (model->uses_graph) TRY(propagation_init(&model->propagation, run, widest_aggregate(model)));
  model->workspace = gradient_workspace(model, run);
  if (model->uses_graph) model->workspace = larger(model->workspace, product_workspace(model, run));
  model->arena = arena_measure(run->device);
  return plan(model, run);
}

/* Bytes of features that are given back after their aggregate is there, before the other buffers are written.
 */
static int64_t replaced_features(const struct model *model, int64_t buffers) {
  const struct layer *first = &model->layer[0];
  if (!first->constant || !model->features.borrowed || !model->features.once) return 0;
  int64_t features = tensor_bytes(model->features.dense), later = buffers - tensor_bytes(first->aggregate);
  return features < later ? features : later;
}

void model_estimate(const struct model *model, const struct run *run, struct estimate *host,
                    struct estimate *device) {
  int64_t count = model->parameters.count, parameters = 4 * count * dtype_bytes(run->kernels->real);
  int64_t copies = 5 * count * (int64_t)sizeof(double); /* for checkpoints and of the best, see state.h */
  estimate_add(device, "parameters and optimiser", parameters);
  estimate_add(host, "parameters and optimiser", copies);
  int64_t buffers = model->arena.used - parameters;
  estimate_add(device, "activations and buffers", buffers - replaced_features(model, buffers));
  estimate_add(device, "scratch of kernels", model->workspace);
  if (model->features.sparse)
    estimate_add(host, "transposed features",
                 csr_bytes(&model->features.transposed) * (model->features.masked ? 2 : 1));
}

/* y = P x, of the features themselves, or of a panel in the scratch, which is scaled there. */
static int aggregate_panel(struct model *model, struct run *run, struct tensor x, struct tensor y) {
  struct propagation *p = &model->propagation;
  struct update scale = {.z = x, .scale = p->forward.col_scale, .y = x};
  if (!scale.scale || x.data != model->scratch.data) return propagate(p, run, &p->forward, x, NULL, y);
  TRY(op_update(run->kernels, &scale));
  return propagate_message(p, run, &p->forward, x, NULL, y);
}

/* P X, once and for all; X itself is not needed any more. */
static int aggregate_once(struct model *model, struct run *run) {
  struct layer *first = &model->layer[0];
  if (!first->constant) return OK;
  int64_t each = panel_width(model);
  for (int64_t done = 0; done < first->in; done += each) {
    int64_t cols = first->in - done < each ? first->in - done : each;
    struct tensor x;
    TRY(features_panel(&model->features, run, done, cols, model->scratch, &x));
    TRY(aggregate_panel(model, run, x, tensor_columns(first->aggregate, done, cols)));
    TRY(device_synchronize(run->device, STREAM_COMPUTE));
  }
  features_release(&model->features, run);
  return OK;
}

static int take_memory(struct model *model, struct run *run) {
  void *workspace = NULL;
  TRY(arena_allocate(&model->arena, "parameters, activations and buffers"));
  return kernels_workspace(run->kernels, model->workspace, &workspace);
}

int model_start(struct model *model, struct run *run) {
  TRY(comm_agree(run->comm, PROFILE_HOST("memory", take_memory(model, run))));
  TRY(plan(model, run));
  TRY(device_upload(run->device, STREAM_COMPUTE, model->id, run->shard->global_id,
                    run->shard->own * (int64_t)sizeof *model->id));
  if (model->uses_graph) TRY(propagation_start(&model->propagation, run));
  TRY(features_start(&model->features, run, model->id));
  return aggregate_once(model, run);
}

int model_reset(struct model *model, struct run *run) {
  TRY(parameters_reset(&model->parameters, run));
  model->features.dropout = dropout_of(run->config->model.dropout_input,
                                       run_key(run, 0, RANDOM_DROPOUT_INPUT), model->id);
  for (int l = 0; l < model->layers; l++) TRY(layer_reset(run, &model->layer[l]));
  return OK;
}

void model_free(struct model *model, struct run *run) {
  features_free(&model->features, run);
  propagation_free(&model->propagation, run);
  parameters_free(&model->parameters);
  arena_free(&model->arena);
  for (int l = 0; l < model->layers; l++) free(model->layer[l].kept);
  free(model->layer);
  *model = (struct model){0};
}

/* Layer l's first product, to the layer below. */
static void offer_next(struct model *model, struct run *run, int l) {
  struct layer *layer = &model->layer[l];
  model->has_next = l < model->layers && layer->ops->first_product &&
                    layer->ops->first_product(model, run, layer, &model->next);
}

int model_forward(struct model *model, struct run *run, int training) {
  if (!model->features.once) TRY(features_forward(&model->features, run, training));
  for (int l = 0; l < model->layers; l++) {
    struct layer *layer = &model->layer[l];
    layer_set_end(model, run, layer, training);
    offer_next(model, run, l + 1);
    TRY(layer->ops->forward(model, run, layer, training));
  }
  return OK;
}

struct tensor model_logits(const struct model *model) {
  return model->layer[model->layers - 1].y;
}

int model_takes_loss(const struct model *model) {
  const struct layer *last = &model->layer[model->layers - 1];
  return last->ends_in_sum && last->ending.norm != NORM_BATCH && propagation_takes_loss(&model->propagation);
}

struct tensor model_embedding(const struct model *model) {
  return model->layers > 1 ? model->layer[model->layers - 2].y : (struct tensor){0};
}

static struct tensor grad_buffer(const struct model *model, int i, int64_t cols) {
  return tensor_narrowed(model->grad[i], cols);
}

struct tensor model_logits_grad(const struct model *model) {
  return grad_buffer(model, 0, model->layer[model->layers - 1].out);
}

/* Where nothing lies between the logits and the last layer's sum, their gradient is its message. */
const void *model_logits_grad_scale(const struct model *model) {
  const struct layer *last = &model->layer[model->layers - 1];
  const struct layer_end *end = &last->ending;
  int bare = last->bias < 0 && end->norm == NORM_NONE && end->activation == ACTIVATION_NONE &&
             end->dropout == 0 && !layer_has_residual(last);
  return bare && last->dz_is_message ? model->propagation.backward.col_scale : NULL;
}

/* The end of layer l, whose dy and dz lie in its gradient buffer. */
static struct update_backward end_of(struct model *model, struct run *run, int l) {
  struct layer *layer = &model->layer[l];
  struct tensor residual = {0};
  if (layer_has_residual(layer)) residual = grad_buffer(model, 2, layer->in);
  return layer_end_backward(model, run, layer, grad_buffer(model, grad_of(model, l), layer->out), residual);
}

/* What a layer's backward will read, once more. */
static int recompute(struct model *model, struct run *run, struct layer *layer) {
  layer->again = 1;
  TRY(layer->ops->forward(model, run, layer, 1));
  layer->again = 0;
  return OK;
}

/* Whether the first layer's backward is one product, which can follow the end before it at once. */
static int first_is_one_product(struct model *model, struct run *run, struct tensor dz, struct gemm *op) {
  const struct layer *first = &model->layer[0];
  return first->ops->one_product && first->ending.norm != NORM_BATCH &&
         first->ops->one_product(model, run, first, dz, op);
}

/* A layer's backward ends with the end of the layer below: kernels that write its dy can apply it at once. */
int model_backward(struct model *model, struct run *run) {
  struct update_backward end = end_of(model, run, model->layers - 1);
  struct gemm first;
  if (model_logits_grad_scale(model)) end.scale = NULL;
  TRY(op_update_backward(run->kernels, &end));
  for (int l = model->layers - 1; l >= 0 && !end.then; l--) {
    struct layer *layer = &model->layer[l];
    TRY(layer_rest_backward(model, run, layer, &end));
    struct tensor dz = end.dz, residual = end.residual_grad;
    if (l > 0 && model->layer[l - 1].recomputed)
      TRY(PROFILE("recompute", recompute(model, run, &model->layer[l - 1])));
    if (l > 0) end = end_of(model, run, l - 1);
    if (l == 1 && first_is_one_product(model, run, end.dz, &first)) end.then = &first;
    TRY(layer->ops->backward(model, run, layer, dz, residual, l > 0 ? &end : NULL));
  }
  return OK;
}

static int has_nonfinite(struct run *run, struct tensor t, int *found) {
  double *value = NULL;
  int code = OK;
  int64_t each = 1024;
  TRY(memory_alloc(&value, each * t.cols * (int64_t)sizeof *value, "rows to look at"));
  for (int64_t first = 0; first < t.rows && code == OK && !*found; first += each) {
    struct tensor piece = tensor_rows(t, first, t.rows - first < each ? t.rows - first : each);
    code = run_download(run, value, piece);
    for (int64_t i = 0; i < piece.rows * piece.cols && code == OK; i++) *found |= !isfinite(value[i]);
  }
  free(value);
  return code;
}

int model_find_nonfinite(struct model *model, struct run *run, int *layer) {
  *layer = -1;
  for (int l = 0; l < model->layers && *layer < 0; l++) {
    int found = 0;
    TRY(has_nonfinite(run, model->layer[l].y, &found));
    if (found) *layer = l;
  }
  return OK;
}

int model_find_nonfinite_gradient(struct model *model, struct run *run, int *parameter) {
  int found = 0;
  *parameter = model->parameters.length;
  while (!found && --*parameter >= 0)
    TRY(has_nonfinite(run, parameter_gradient(&model->parameters, run, *parameter), &found));
  return OK;
}
