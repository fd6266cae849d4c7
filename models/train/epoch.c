#include "models/train/epoch.h"

#include <assert.h>

#include "kernels/ops/optimizer.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

/* Where an epoch stands on the device's clock. */
enum { MARK_BEGUN, MARK_TRAINED, MARK_DONE, MARKS_OF_EPOCH };

enum { RESULT_BYTES = ((int)sizeof(struct result) + 63) / 64 * 64 };

static int slot_of(int64_t epoch) {
  return (int)(epoch % RESULTS);
}

static int mark_of(int64_t epoch, int mark) {
  return slot_of(epoch) * MARKS_OF_EPOCH + mark;
}

/* The result and, behind it, the logits. */
int64_t epoch_result_bytes(const struct epoch *pass) {
  int ranks = objective_ranks(pass->objective);
  return RESULT_BYTES + (ranks ? tensor_bytes(model_logits(pass->model)) : 0);
}

int epoch_open(struct epoch *pass, struct run *run) {
  struct tensor logits = model_logits(pass->model);
  for (int i = 0; i < RESULTS; i++) {
    TRY(device_host_alloc(run->device, epoch_result_bytes(pass), (void **)&pass->result[i],
                          "results of epochs"));
    logits.data = (char *)pass->result[i] + RESULT_BYTES;
    pass->result[i]->logits = logits;
  }
  return OK;
}

void epoch_close(struct epoch *pass, struct run *run) {
  recording_forget(&pass->training, run);
  recording_forget(&pass->evaluation, run);
  for (int i = 0; i < RESULTS; i++) device_host_release(run->device, pass->result[i]);
}

int epoch_begin(struct epoch *pass, struct run *run, int64_t epoch, int64_t step) {
  recording_forget(&pass->training, run);
  recording_forget(&pass->evaluation, run);
  snapshots_reset(pass->snapshots);
  pass->queued = epoch;
  return rates_start(&pass->rates, run, epoch, step);
}

static int step_optimizer(struct parameters *p, struct run *run) {
  const struct config *config = run->config;
  struct optimizer_op op = {.optimizer = config->train.optimizer,
                            .w = p->w,
                            .dw = p->dw,
                            .m = p->m,
                            .v = p->v,
                            .copy = p->copy,
                            .count = p->count,
                            .decay_end = p->decay_end,
                            .group_begin = p->group_begin,
                            .group_end = p->group_end,
                            .group_decay = p->group_decay,
                            .momentum = config->train.momentum,
                            .weight_decay = config->train.weight_decay,
                            .clip = config->train.clip};
  TRY(op_sum_squares(run->kernels, p->dw, p->count));
  return op_optimizer(run->kernels, &op);
}

int epoch_forward(struct epoch *pass, struct run *run, double *loss) {
  struct model *model = pass->model;
  const struct objective *objective = pass->objective;
  int along = objective_comes_along(objective) && model_takes_loss(model);
  model->loss = objective_loss_op(objective, run, SPLIT_TRAIN, model_trained_logits(model),
                                  model_logits_grad(model), model_logits_grad_scale(model), loss);
  model->has_loss = along;
  int code = PROFILE("forward", model_forward(model, run, 1));
  model->has_loss = 0;
  return code == OK ? PROFILE("loss", objective_loss(objective, run, &model->loss, along)) : code;
}

/* Everything that differs from the epoch before lies on the device. */
static int train(void *subject, struct run *run) {
  struct epoch *pass = subject;
  struct model *model = pass->model;
  struct parameters *p = &model->parameters;
  TRY(rates_advance(&pass->rates, run));
  TRY(epoch_forward(pass, run, &pass->objective->outcome->loss));
  TRY(PROFILE("backward", model_backward(model, run)));
  TRY(comm_allreduce(run->comm, p->dw, p->count, run_number(run), REDUCE_SUM));
  return PROFILE("optimiser", step_optimizer(p, run));
}

static int evaluate(void *subject, struct run *run) {
  struct epoch *pass = subject;
  TRY(model_forward(pass->model, run, 0));
  return objective_tally(pass->objective, run, model_logits(pass->model));
}

int epoch_queue(struct epoch *pass, struct run *run, int64_t epoch) {
  assert(epoch == pass->queued + 1);
  TRY(rates_refill(&pass->rates, run, epoch));
  TRY(device_mark(run->device, mark_of(epoch, MARK_BEGUN), STREAM_COMPUTE));
  TRY(recording_run(&pass->training, pass, run, train));
  pass->queued = epoch;
  return device_mark(run->device, mark_of(epoch, MARK_TRAINED), STREAM_COMPUTE);
}

int epoch_queue_evaluation(struct epoch *pass, struct run *run) {
  TRY(recording_run(&pass->evaluation, pass, run, evaluate));
  return snapshot_take(pass->snapshots, pass->model, run, pass->queued);
}

static int download(struct epoch *pass, struct run *run, struct result *result) {
  struct tensor logits = model_logits(pass->model);
  if (objective_ranks(pass->objective))
    TRY(device_download(run->device, STREAM_COMPUTE, result->logits.data, logits.data, tensor_bytes(logits)));
  TRY(device_download(run->device, STREAM_COMPUTE, &result->outcome, pass->objective->outcome,
                      sizeof result->outcome));
  return device_download(run->device, STREAM_COMPUTE, &result->scalars, run->kernels->scalars,
                         sizeof result->scalars);
}

int epoch_queue_result(struct epoch *pass, struct run *run) {
  TRY(download(pass, run, pass->result[slot_of(pass->queued)]));
  return device_mark(run->device, mark_of(pass->queued, MARK_DONE), STREAM_COMPUTE);
}

int epoch_collect(struct epoch *pass, struct run *run, int64_t epoch, struct result *result) {
  TRY(PROFILE_HOST("await", device_reach(run->device, mark_of(epoch, MARK_DONE))));
  *result = *pass->result[slot_of(epoch)];
  return device_elapsed(run->device, mark_of(epoch, MARK_BEGUN), mark_of(epoch, MARK_TRAINED), &result->ms);
}

int epoch_evaluate(struct epoch *pass, struct run *run, struct tally *tally) {
  struct result *result = pass->result[0];
  TRY(evaluate(pass, run));
  TRY(download(pass, run, result));
  TRY(device_synchronize(run->device, STREAM_COMPUTE));
  *tally = tally_of(&result->outcome);
  return OK;
}
