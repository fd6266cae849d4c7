/* The end of a layer: y = dropout(act(norm(z + bias)) + residual), and its backward. Batch statistics are of
 * all ranks' rows (Ioffe and Szegedy 2015): one pass over them and two all-reduces forward (mean, then
 * squares around it), one all-reduce backward. */
#include <stdlib.h>

#include "models/model.h"
#include "runtime/error.h"
#include "runtime/memory.h"

static void *value(struct model *model, struct run *run, int index) {
  return index < 0 ? NULL : parameter_value(&model->parameters, run, index).data;
}

static void *gradient(struct model *model, struct run *run, int index) {
  return index < 0 ? NULL : parameter_gradient(&model->parameters, run, index).data;
}

void layer_set_end(struct model *model, struct run *run, struct layer *layer, int training) {
  const struct layer_end *ending = &layer->ending;
  struct update *end = &layer->update;
  *end = (struct update){.z = layer->z, .bias = value(model, run, layer->bias), .y = layer->y};
  end->norm = ending->norm;
  end->gain = value(model, run, layer->gain);
  end->shift = value(model, run, layer->shift);
  end->mean = layer->mean;
  end->rstd = layer->rstd;
  end->epsilon = 1e-5;
  end->activation = ending->activation;
  if (layer_has_residual(layer)) end->residual = layer_input(model, layer);
  struct philox_key key = run_key(run, layer->index, RANDOM_DROPOUT_HIDDEN);
  if (training) end->dropout = dropout_of(ending->dropout, key, model->id);
  if (training && layer->last && model->has_loss) end->loss = &model->loss;
  layer->has_moments = 0;
  layer->moments = (struct column_moments){0};
  if (!training || ending->norm != NORM_BATCH) return;
  layer->moments = (struct column_moments){.x = layer->z, .squares = layer->rstd};
  layer->moments.sum = layer->own_sum ? layer->own_sum : layer->mean;
}

const struct update *layer_fused_end(const struct layer *layer) {
  return layer->update.norm == NORM_BATCH ? NULL : &layer->update;
}

/* A forward that is repeated has its statistics. */
const struct column_moments *layer_moments(struct layer *layer) {
  if (!layer->moments.sum || layer->again) return NULL;
  layer->has_moments = 1;
  return &layer->moments;
}

static int batch_statistics(struct run *run, struct layer *layer, int training) {
  int64_t real = dtype_bytes(run->kernels->real);
  struct batch_norm_stats stats = {.step = BATCH_NORM_RUNNING,
                                   .mean = layer->mean,
                                   .rstd = layer->rstd,
                                   .running_mean = layer->running,
                                   .running_var = (char *)layer->running + layer->out * real,
                                   .own_sum = layer->own_sum,
                                   .cols = layer->out,
                                   .rows = layer->z.rows,
                                   .count = run->shard->global_nodes,
                                   .epsilon = layer->update.epsilon,
                                   .momentum = .1};
  if (!training) return op_batch_norm_stats(run->kernels, &stats);
  if (!layer->has_moments) TRY(op_column_moments(run->kernels, &layer->moments));
  stats.step = BATCH_NORM_ALONE;
  if (run->comm->size == 1) return op_batch_norm_stats(run->kernels, &stats);
  if (layer->own_sum)
    TRY(device_copy(run->device, STREAM_COMPUTE, layer->mean, layer->own_sum, layer->out * real));
  TRY(comm_allreduce(run->comm, layer->mean, layer->out, run_number(run), REDUCE_SUM));
  stats.step = BATCH_NORM_MEAN;
  TRY(op_batch_norm_stats(run->kernels, &stats));
  TRY(comm_allreduce(run->comm, layer->rstd, layer->out, run_number(run), REDUCE_SUM));
  stats.step = BATCH_NORM_VARIANCE;
  return op_batch_norm_stats(run->kernels, &stats);
}

int layer_rest(struct run *run, struct layer *layer, int training) {
  if (layer_fused_end(layer) || layer->again) return OK;
  TRY(batch_statistics(run, layer, training));
  return op_update(run->kernels, &layer->update);
}

/* Of all ranks; *sums: [2, out], of dn and of dn xhat. Where there is one rank they are the gradients. */
static int sum_over_ranks(struct model *model, struct run *run, const struct layer *layer,
                          const struct update_backward *end, void *sums[2]) {
  int64_t bytes = layer->out * dtype_bytes(run->kernels->real);
  sums[0] = end->shift_grad;
  sums[1] = end->gain_grad;
  if (run->comm->size == 1) return OK;
  for (int i = 0; i < 2; i++) {
    void *to = (char *)model->sums + i * bytes;
    TRY(device_copy(run->device, STREAM_COMPUTE, to, sums[i], bytes));
    sums[i] = to;
  }
  return comm_allreduce(run->comm, model->sums, 2 * layer->out, run_number(run), REDUCE_SUM);
}

/* The product whose dn was not kept, once more: this time dz is made of it, and sums are there. */
static int repeat_product(struct model *model, struct run *run, const struct update_backward *end,
                          const struct batch_norm_backward *norm) {
  struct update_backward again = *end;
  struct gemm product = model->repeat;
  again.shift_grad = again.gain_grad = again.bias_grad = NULL;
  product.backward = &again;
  product.norm = norm;
  model->repeats = 0;
  return op_gemm(run->kernels, &product);
}

struct update_backward layer_end_backward(struct model *model, struct run *run, struct layer *layer,
                                          struct tensor dy, struct tensor residual) {
  return (struct update_backward){.forward = &layer->update,
                                  .dy = dy,
                                  .dz = dy,
                                  .residual_grad = residual,
                                  .scale = layer->dz_is_message ? model->propagation.backward.col_scale
                                                                : NULL,
                                  .shift_grad = gradient(model, run, layer->shift),
                                  .gain_grad = gradient(model, run, layer->gain),
                                  .bias_grad = gradient(model, run, layer->bias)};
}

int layer_rest_backward(struct model *model, struct run *run, const struct layer *layer,
                        const struct update_backward *end) {
  void *sums[2];
  if (layer->update.norm != NORM_BATCH) return OK;
  TRY(sum_over_ranks(model, run, layer, end, sums));
  struct batch_norm_backward norm = {.forward = &layer->update,
                                     .dz = end->dz,
                                     .sum_dn = sums[0],
                                     .sum_dn_xhat = sums[1],
                                     .count = run->shard->global_nodes};
  return model->repeats ? repeat_product(model, run, end, &norm)
                        : op_batch_norm_backward(run->kernels, &norm);
}

int layer_reset(struct run *run, struct layer *layer) {
  if (layer->statistics == 0) return OK;
  double *start = NULL;
  TRY(memory_alloc(&start, layer->statistics * (int64_t)sizeof *start, "running statistics"));
  for (int64_t j = 0; j < layer->out; j++) start[layer->out + j] = 1; /* variances; means are 0 */
  int code = run_upload(run, run_reals(run, layer->running, layer->statistics), start);
  free(start);
  return code;
}
