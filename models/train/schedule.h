/* schedule: the learning rate of an epoch, a pure function of the configuration and the epoch. */
#ifndef MODELS_TRAIN_SCHEDULE_H
#define MODELS_TRAIN_SCHEDULE_H

#include "runtime/config/config.h"

/* Learning rate of epoch 1, 2, ...: warm-up rises linearly over the first train.warmup epochs; then constant;
 * cosine to 0 at train.epochs (Loshchilov and Hutter 2017, one cycle); or step: times step_factor every
 * step_every epochs. */
double schedule_lr(const struct config *config, int64_t epoch);

#endif
