#include "models/train/schedule.h"

#include <math.h>

double schedule_lr(const struct config *config, int64_t epoch) {
  double lr = config->train.lr;
  int64_t warmup = config->train.warmup, after = epoch - 1 - warmup, length = config->train.epochs - warmup;
  if (epoch <= warmup) return lr * (double)epoch / (double)(warmup + 1);
  if (config->train.schedule == SCHEDULE_COSINE)
    return lr * .5 * (1 + cos(acos(-1) * (double)after / (double)(length > 0 ? length : 1)));
  if (config->train.schedule == SCHEDULE_STEP)
    return lr * pow(config->train.step_factor, (double)(after / config->train.step_every));
  return lr;
}
