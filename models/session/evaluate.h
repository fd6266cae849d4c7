/* evaluate: what a checkpoint's weights are worth. */
#ifndef MODELS_SESSION_EVALUATE_H
#define MODELS_SESSION_EVALUATE_H

#include "models/train/trainer.h"

/* Collective. Loads that checkpoint's parameters, makes one forward pass without dropout and prints the
 * metrics of the three splits, and those of the test split by class. */
int trainer_evaluate(struct trainer *trainer, struct run *run, const char *checkpoint);

#endif
