#include "models/train/rates.h"

#include <assert.h>

#include "kernels/ops/optimizer.h"
#include "models/train/schedule.h"
#include "runtime/base/error.h"

void rates_plan(struct rates *rates, struct arena *arena) {
  rates->device = arena_take(arena, sizeof rates->host);
}

static int upload(struct rates *rates, struct run *run, int64_t first) {
  for (int64_t i = 0; i < RATES; i++) rates->host[i] = schedule_lr(run->config, first + i);
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
