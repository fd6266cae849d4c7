/* rates: learning rates on the device, where each epoch takes its own from; a stretch of them at a time. */
#ifndef MODELS_TRAIN_RATES_H
#define MODELS_TRAIN_RATES_H

#include "models/core/run.h"
#include "runtime/device/arena.h"

enum { RATES = 1024 };

struct rates {
  double *device;     /* [RATES]: that of epoch e at e % RATES */
  double host[RATES]; /* what was uploaded last */
};

/* Learning rate of epoch 1, 2, ...: warm-up rises linearly over the first train.warmup epochs; then constant;
 * cosine to 0 at train.epochs (Loshchilov and Hutter 2017, one cycle); or step: times step_factor every
 * step_every epochs. */
double rates_lr(const struct config *config, int64_t epoch);

void rates_plan(struct rates *rates, struct arena *arena);

/* Sets the kernels' scalars to where training stands: that many epochs and optimiser steps done, of which
 * there are at most CONFIG_EPOCHS. */
int rates_start(struct rates *rates, struct run *run, int64_t epoch, int64_t step);

/* Before each epoch that is queued: uploads the next stretch when the epoch is the first of it. */
int rates_refill(struct rates *rates, struct run *run, int64_t epoch);

/* Queues the step of the scalars to the next epoch. */
int rates_advance(const struct rates *rates, struct run *run);

#endif
