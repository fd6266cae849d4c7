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

static int64_t outcome_bytes(const struct epoch *pass) {
  return (pass->objective->chunks * (int64_t)sizeof(struct outcome) + 63) / 64 * 64;
}

/* The result and, behind it, outcomes and logits. */
int64_t epoch_result_bytes(const struct epoch *pass) {
  int ranks = objective_ranks(pass->objective);
  return RESULT_BYTES + outcome_bytes(pass) + (ranks ? tensor_bytes(model_logits(pass->model)) : 0);
}

int epoch_open(struct epoch *pass, struct run *run) {
  struct tensor logits = model_logits(pass->model);
  for (int i = 0; i < RESULTS; i++) {
    TRY(device_host_alloc(run->device, epoch_result_bytes(pass), (void **)&pass->result[i],
                          "results of epochs"));
    pass->result[i]->of_chunk = (struct outcome *)((char *)pass->result[i] + RESULT_BYTES);
    logits.data = (char *)pass->result[i]->of_chunk + outcome_bytes(pass);
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

static int train_loss(void *context, struct run *run, const struct logits *logits) {
  const struct epoch *pass = context;
  const struct objective *objective = pass->objective;
  const struct loss_op op = objective_loss_op(objective, run, SPLIT_TRAIN, logits,
                                              &objective->outcome[logits->chunk].loss);
  return objective_loss(objective, run, &op, pass->model->has_loss);
}

/* Where the op that makes the logits takes the loss along, it is given before they are there. */
static void give_loss(struct epoch *pass, struct run *run) {
  struct model *model = pass->model;
  const struct objective *objective = pass->objective;
  model->has_loss = objective_comes_along(objective) && model_takes_loss(model);
  if (!model->has_loss) return;
  const struct logits logits = model_trained_logits(model, run);
  model->loss = objective_loss_op(objective, run, SPLIT_TRAIN, &logits, &objective->outcome->loss);
}

int epoch_forward(struct epoch *pass, struct run *run) {
  give_loss(pass, run);
  int code = model_forward(pass->model, run, 1, train_loss, pass);
  pass->model->has_loss = 0;
  return code;
}

int epoch_gradients(struct epoch *pass, struct run *run) {
  give_loss(pass, run);
  int code = model_gradients(pass->model, run, train_loss, pass);
  pass->model->has_loss = 0;
  return code;
}

/* Everything that differs from the epoch before lies on the device. */
static int train(void *subject, struct run *run) {
  struct epoch *pass = subject;
  struct parameters *p = &pass->model->parameters;
  TRY(rates_advance(&pass->rates, run));
  TRY(epoch_gradients(pass, run));
  TRY(comm_allreduce(run->comm, p->dw, p->count, run_number(run), REDUCE_SUM));
  return PROFILE("optimiser", step_optimizer(p, run));
}

static int evaluation_loss(void *context, struct run *run, const struct logits *logits) {
  const struct epoch *pass = context;
  return objective_tally(pass->objective, run, logits);
}

static int evaluate(void *subject, struct run *run) {
  struct epoch *pass = subject;
  return model_forward(pass->model, run, 0, evaluation_loss, pass);
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
  TRY(device_post(run->device, STREAM_COMPUTE, result->of_chunk, pass->objective->outcome,
                  pass->objective->chunks * (int64_t)sizeof *result->of_chunk));
  return device_post(run->device, STREAM_COMPUTE, &result->scalars, run->kernels->scalars,
                     sizeof result->scalars);
}

int epoch_queue_result(struct epoch *pass, struct run *run) {
  TRY(download(pass, run, pass->result[slot_of(pass->queued)]));
  return device_mark(run->device, mark_of(pass->queued, MARK_DONE), STREAM_COMPUTE);
}

int epoch_collect(struct epoch *pass, struct run *run, int64_t epoch, struct result *result) {
  TRY(PROFILE_HOST("await", device_reach(run->device, mark_of(epoch, MARK_DONE))));
  *result = *pass->result[slot_of(epoch)];
  result->outcome = outcome_sum(result->of_chunk, pass->objective->chunks);
  return device_elapsed(run->device, mark_of(epoch, MARK_BEGUN), mark_of(epoch, MARK_TRAINED), &result->ms);
}

int epoch_evaluate(struct epoch *pass, struct run *run, struct tally *tally) {
  struct result *result = pass->result[0];
  TRY(evaluate(pass, run));
  TRY(download(pass, run, result));
  TRY(device_synchronize(run->device, STREAM_COMPUTE));
  result->outcome = outcome_sum(result->of_chunk, pass->objective->chunks);
  *tally = tally_of(&result->outcome);
  return OK;
}

static int queue_timed(struct epoch *pass, struct run *run) {
  TRY(PROFILE("epoch", epoch_queue(pass, run, pass->queued + 1)));
  return epoch_queue_result(pass, run);
}

int epoch_time(struct epoch *pass, struct run *run, int64_t epoch, int64_t step, int count, double *ms) {
  TRY(epoch_begin(pass, run, epoch, step));
  TRY(queue_timed(pass, run));
  for (int i = -EPOCH_WARM_UP; i < count; i++) {
    struct result result;
    if (i + 1 < count) TRY(queue_timed(pass, run));
    TRY(epoch_collect(pass, run, ++epoch, &result));
    if (i >= 0) ms[i] = result.ms;
  }
  return OK;
}
