/* epoch: one pass over the whole graph: forward, loss, backward, one gradient all-reduce, one optimiser step.
 */
#ifndef MODELS_EPOCH_H
#define MODELS_EPOCH_H

#include "models/trainer.h"

/* Trains epoch number `epoch` (from 1). loss: this rank's share of the mean training loss before the step. */
int epoch_train(struct trainer *trainer, struct run *run, int64_t epoch, double *loss);

/* Forward without dropout, then losses and counts of every split on this rank. */
int epoch_evaluate(struct trainer *trainer, struct run *run, struct tally *tally);

#endif
