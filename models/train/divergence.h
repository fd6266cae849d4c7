/* divergence: a training that has gone wrong ends: with a loss that is not finite, or a million times what it
 * was at first. All ranks see the same sums, so all end at the same epoch; one says why. */
#ifndef MODELS_TRAIN_DIVERGENCE_H
#define MODELS_TRAIN_DIVERGENCE_H

#include "models/train/epoch.h"

/* How many times its first value the loss may become. */
#define LOSS_GROWTH 1e6

/* What an epoch ended with, summed over the ranks. */
struct divergence {
  int64_t epoch;
  double loss;               /* of the training pass */
  const struct tally *tally; /* of the evaluation; zeros where there was none */
  int frozen;                /* the device found a gradient that is not finite */
};

/* *first: the loss that later ones are held against; 0: none yet, then it becomes this one. Collective.
 * Errors: FAILED, naming the epoch, where NaN or infinity came first (a layer's output or a parameter's
 * gradient) and what to try. */
int divergence_check(const struct divergence *at, double *first, struct epoch *pass, struct run *run);

#endif
