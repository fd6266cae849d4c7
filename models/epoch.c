#include "models/epoch.h"

#include "models/schedule.h"
#include "runtime/error.h"
#include "runtime/profile.h"

static int set_scalars(struct run *run, int64_t epoch, int64_t step) {
  struct scalars scalars = {
      .epoch = (uint32_t)epoch, .step = (int32_t)step, .lr = schedule_lr(run->config, epoch), .squares = 0};
  TRY(device_upload(run->device, STREAM_COMPUTE, run->kernels->scalars, &scalars, sizeof scalars));
  return device_synchronize(run->device, STREAM_COMPUTE);
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
                            .momentum = config->train.momentum,
                            .weight_decay = config->train.weight_decay,
                            .clip = config->train.clip};
  if (op.clip > 0) TRY(op_sum_squares(run->kernels, p->dw, p->count));
  return op_optimizer(run->kernels, &op);
}

int epoch_train(struct trainer *trainer, struct run *run, int64_t epoch, double *loss) {
  struct model *model = &trainer->model;
  struct parameters *p = &model->parameters;
  struct tensor grad = model_logits_grad(model);
  TRY(set_scalars(run, epoch, ++trainer->state.step));
  TRY(PROFILE("forward", model_forward(model, run, 1)));
  TRY(PROFILE("loss",
              objective_loss(&trainer->objective, run, SPLIT_TRAIN, model_logits(model), grad, loss)));
  TRY(PROFILE("backward", model_backward(model, run)));
  TRY(comm_allreduce(run->comm, p->dw, p->count, run_number(run), REDUCE_SUM));
  TRY(PROFILE("optimiser", step_optimizer(p, run)));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

int epoch_evaluate(struct trainer *trainer, struct run *run, struct tally *tally) {
  struct model *model = &trainer->model;
  TRY(model_forward(model, run, 0));
  return objective_tally(&trainer->objective, run, model_logits(model), tally);
}
