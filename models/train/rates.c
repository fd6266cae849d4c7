#include "models/train/rates.h"

#include <assert.h>
#include <math.h>

#include "kernels/ops/optimizer.h"
#include "runtime/base/error.h"

double rates_lr(const struct config *config, int64_t epoch) {
  double lr = config->train.lr;
  int64_t warmup = config->train.warmup, after = epoch - 1 - warmup, length = config->train.epochs - warmup;
  if (epoch <= warmup) return lr * (double)epoch / (double)(warmup + 1);
  if (config->train.schedule == SCHEDULE_COSINE)
    return lr * .5 * (1 + cos(acos(-1) * (double)after / (double)(length > 0 ? length : 1)));
  if (config->train.schedule == SCHEDULE_STEP)
    return lr * pow(config->train.step_factor, (double)(after / config->train.step_every));
  return lr;
}

void rates_plan(struct rates *rates, struct arena *arena) {
  rates->device = arena_take(arena, sizeof rates->host);
}

static int upload(struct rates *rates, struct run *run, int64_t first) {
  for (int64_t i = 0; i < RATES; i++) rates->host[i] = rates_lr(run->config, first + i);
  return device_upload(run->device, STREAM_COMPUTE, rates->device, rates->host, sizeof rates->host);
}

int rates_start(struct rates *rates, struct run *run, int64_t epoch, int64_t step) {
  assert(epoch >= 0 && epoch <= CONFIG_EPOCHS && step >= 0 && step <= CONFIG_EPOCHS);
  struct scalars scalars = {.epoch = (uint32_t)epoch, .step = (int32_t)step};
  TRY(device_upload(run->device, STREAM_COMPUTE, run->kernels->scalars, &scalars, sizeof scalars));
  TRY(upload(rates, run, (epoch + 1) / RATES * RATES));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

int rates_refill(struct rates *rates, struct run *run, int64_t epoch) {
  return epoch % RATES == 0 ? upload(rates, run, epoch) : OK;
}

int rates_advance(const struct rates *rates, struct run *run) {
  return op_advance(run->kernels, rates->device, RATES);
}
