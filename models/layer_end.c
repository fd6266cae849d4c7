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
}

const struct update *layer_fused_end(const struct layer *layer) {
  return layer->update.norm == NORM_BATCH ? NULL : &layer->update;
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
  void *own_sum = layer->own_sum ? layer->own_sum : layer->mean;
  struct column_moments moments = {.x = layer->z, .sum = own_sum, .squares = layer->rstd};
  TRY(op_column_moments(run->kernels, &moments));
  if (own_sum != layer->mean)
    TRY(device_copy(run->device, STREAM_COMPUTE, layer->mean, own_sum, layer->out * real));
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

/* dz holds dn; the sums of all ranks make it the gradient of z. */
static int batch_norm_end(struct model *model, struct run *run, const struct layer *layer, struct tensor dz,
                          void *sum_dn, void *sum_dn_xhat) {
  int64_t bytes = layer->out * dtype_bytes(run->kernels->real);
  char *sums = model->sums;
  TRY(device_copy(run->device, STREAM_COMPUTE, sums, sum_dn, bytes));
  TRY(device_copy(run->device, STREAM_COMPUTE, sums + bytes, sum_dn_xhat, bytes));
  TRY(comm_allreduce(run->comm, sums, 2 * layer->out, run_number(run), REDUCE_SUM));
  return op_batch_norm_backward(run->kernels,
                                &(struct batch_norm_backward){.forward = &layer->update,
                                                              .dz = dz,
                                                              .sum_dn = sums,
                                                              .sum_dn_xhat = sums + bytes,
                                                              .count = run->shard->global_nodes});
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
  if (layer->update.norm != NORM_BATCH) return OK;
  return batch_norm_end(model, run, layer, end->dz, end->shift_grad, end->gain_grad);
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
