/* What the layers share: parameters, buffers, the linear map. The end of a layer is in layer_end.c. */
#include "models/layer.h"

#include <assert.h>
#include <stdio.h>

#include "models/model.h"
#include "runtime/error.h"

int layer_has_residual(const struct layer *layer) {
  return layer->ending.residual && layer->index > 0 && layer->in == layer->out;
}

/* Not where H W is kept as it is, or made by a sparse product, which has no such end. */
int layer_may_scale_product(const struct layer *layer, const struct run *run) {
  return !layer->keeps_product && !(layer->index == 0 && run->shard->sparse);
}

int layer_add(struct model *model, const struct run *run, const struct layer *layer, const char *what,
              int64_t rows, int64_t cols, enum start start, int *index) {
  char name[48];
  snprintf(name, sizeof name, "layer%d.%s", layer->index, what);
  return parameters_add(&model->parameters, run, name, rows, cols, start, index);
}

int layer_parameters(struct model *model, struct run *run, struct layer *layer) {
  TRY(layer_add(model, run, layer, "weight", layer->in, layer->out, START_GLOROT, &layer->weight));
  return layer_end_parameters(model, run, layer);
}

int layer_end_parameters(struct model *model, struct run *run, struct layer *layer) {
  enum norm norm = layer->ending.norm;
  layer->bias = layer->gain = layer->shift = -1;
  layer->statistics = norm == NORM_BATCH ? 2 * layer->out : 0;
  if (layer->ending.bias && norm != NORM_BATCH)
    TRY(layer_add(model, run, layer, "bias", 1, layer->out, START_ZERO, &layer->bias));
  if (norm == NORM_NONE) return OK;
  TRY(layer_add(model, run, layer, "gain", 1, layer->out, START_ONE, &layer->gain));
  return layer_add(model, run, layer, "shift", 1, layer->out, START_ZERO, &layer->shift);
}

static void plan_norm(struct run *run, struct layer *layer, struct arena *arena) {
  int64_t real = dtype_bytes(run->kernels->real);
  int batch = layer->ending.norm == NORM_BATCH;
  int64_t statistics = batch ? layer->out : run->shard->own;
  if (layer->ending.norm == NORM_NONE) return;
  layer->mean = arena_take(arena, statistics * real);
  layer->rstd = arena_take(arena, statistics * real);
  if (batch) layer->running = arena_take(arena, layer->statistics * real);
  if (batch && run->comm->size > 1) layer->own_sum = arena_take(arena, statistics * real);
}

static enum dtype output_of(const struct run *run, const struct layer *layer) {
  return layer->last ? run->kernels->real : run->kernels->dtype;
}

void layer_plan(struct run *run, struct layer *layer, struct arena *arena) {
  int64_t own = run->shard->own;
  layer->y = arena_tensor(arena, output_of(run, layer), own, layer->out);
  if (layer->constant) layer->aggregate = arena_tensor(arena, run->kernels->dtype, own, layer->in);
  plan_norm(run, layer, arena);
}

void layer_plan_z(struct run *run, struct layer *layer, struct arena *arena) {
  int one_buffer = layer->ending.norm == NORM_NONE && !layer_has_residual(layer) && !layer->keeps_z;
  layer->z = one_buffer ? layer->y : arena_tensor(arena, output_of(run, layer), run->shard->own, layer->out);
}

void layer_plan_inside(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  enum dtype dtype = run->kernels->dtype;
  int64_t own = run->shard->own;
  if (layer->aggregate_first && !layer->constant)
    layer->aggregate = arena_tensor(arena, dtype, own, layer->in);
  if (layer->keeps_product) layer->product = arena_tensor(arena, dtype, own, layer->out);
  if (layer->ops->plan_inside) layer->ops->plan_inside(model, run, layer, arena);
}

struct tensor layer_input(const struct model *model, const struct layer *layer) {
  return layer->index == 0 ? features_tensor(&model->features) : model->layer[layer->index - 1].y;
}

const struct gemm *layer_take_next(struct model *model, const struct layer *layer,
                                   const struct update *update) {
  if (!model->has_next || !update || update->y.data != layer->y.data) return NULL;
  model->has_next = 0;
  model->layer[layer->index + 1].begun = 1;
  return &model->next;
}

int layer_times_weight(struct model *model, struct run *run, struct layer *layer, int weight,
                       struct tensor add, const struct update *update, struct tensor y) {
  struct tensor w = parameter_factor(&model->parameters, run, weight);
  if (layer->index == 0) return features_times(&model->features, run, w, add, update, y);
  struct gemm product = {
      .a = layer_input(model, layer), .b = w, .c = y, .accumulate = add.data != NULL, .update = update};
  product.next = layer_take_next(model, layer, update);
  if (y.data == layer->z.data && !update) product.moments = layer_moments(layer);
  return op_gemm(run->kernels, &product);
}

static struct gemm weight_gradient(struct model *model, struct run *run, struct layer *layer, int weight,
                                   struct tensor dy) {
  struct tensor dw = parameter_gradient(&model->parameters, run, weight);
  return (struct gemm){.a = layer_input(model, layer), .transpose_a = 1, .b = dy, .c = dw};
}

int layer_weight_gradient(struct model *model, struct run *run, struct layer *layer, int weight,
                          struct tensor dy) {
  struct tensor dw = parameter_gradient(&model->parameters, run, weight);
  if (layer->index == 0) return features_gradient(&model->features, run, dy, dw);
  struct gemm gradient = weight_gradient(model, run, layer, weight, dy);
  return op_gemm(run->kernels, &gradient);
}

/* dx is what a residual is added to. */
static int begin_sum(struct run *run, struct tensor dx, struct tensor residual) {
  if (!residual.data || residual.data == dx.data) return OK;
  return device_copy(run->device, STREAM_COMPUTE, dx.data, residual.data, tensor_bytes(residual));
}

static int input_gradient(struct model *model, struct run *run, int weight, struct tensor dy,
                          struct tensor dx, struct tensor residual, const struct update_backward *below,
                          const struct gemm *beside) {
  struct tensor w = parameter_factor(&model->parameters, run, weight);
  TRY(begin_sum(run, dx, residual));
  struct gemm product = {.a = dy, .b = w, .transpose_b = 1, .c = dx, .backward = below, .beside = beside};
  product.accumulate = residual.data != NULL;
  model->repeats = product.sums_alone = op_gemm_repeats(run->kernels, &product);
  TRY(op_gemm(run->kernels, &product));
  model->repeat = product;
  model->repeat.beside = NULL;
  model->repeat.sums_alone = 0;
  return OK;
}

int layer_input_gradient(struct model *model, struct run *run, int weight, struct tensor dy, struct tensor dx,
                         struct tensor residual, const struct update_backward *below) {
  return input_gradient(model, run, weight, dy, dx, residual, below, NULL);
}

int layer_gradients(struct model *model, struct run *run, struct layer *layer, int weight, struct tensor dy,
                    struct tensor dx, struct tensor residual, const struct update_backward *below) {
  if (!dx.data) return layer_weight_gradient(model, run, layer, weight, dy);
  assert(layer->index > 0); /* features have no gradient */
  struct gemm gradient = weight_gradient(model, run, layer, weight, dy);
  return input_gradient(model, run, weight, dy, dx, residual, below, &gradient);
}

int layer_times_two(struct model *model, struct run *run, struct layer *layer, struct tensor x,
                    const int weight[2], const struct update *update, struct tensor y) {
  const struct parameters *p = &model->parameters;
  struct gemm product = {.a = x,
                         .b = parameter_factor(p, run, weight[0]),
                         .a2 = layer_input(model, layer),
                         .b2 = parameter_factor(p, run, weight[1]),
                         .c = y,
                         .update = update};
  return op_gemm(run->kernels, &product);
}

int layer_two_gradients(struct model *model, struct run *run, struct layer *layer, const int weight[2],
                        const struct tensor dy[2], struct tensor dx, struct tensor residual,
                        const struct update_backward *below) {
  const struct parameters *p = &model->parameters;
  if (!dx.data) {
    TRY(layer_weight_gradient(model, run, layer, weight[0], dy[0]));
    return layer_weight_gradient(model, run, layer, weight[1], dy[1]);
  }
  assert(layer->index > 0); /* features have no gradient */
  struct gemm gradient = weight_gradient(model, run, layer, weight[0], dy[0]);
  struct gemm other = weight_gradient(model, run, layer, weight[1], dy[1]);
  struct gemm product = {.a = dy[0],
                         .b = parameter_factor(p, run, weight[0]),
                         .a2 = dy[1],
                         .b2 = parameter_factor(p, run, weight[1]),
                         .c = dx,
                         .transpose_b = 1,
                         .accumulate = residual.data != NULL,
                         .backward = below,
                         .beside = &gradient,
                         .beside2 = &other};
  TRY(begin_sum(run, dx, residual));
  return op_gemm(run->kernels, &product);
}
