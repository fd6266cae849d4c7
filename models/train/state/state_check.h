/* state_check: what a checkpoint may say. Each number has a range and some depend on others; both are stated
 * here alone, and hold for whatever any version of the program has written. A file can be sound HDF5 and
 * still say what no training ever stood at: such a one is refused before anything follows from it. */
#ifndef MODELS_TRAIN_STATE_STATE_CHECK_H
#define MODELS_TRAIN_STATE_STATE_CHECK_H

#include "io/dataset/checkpoint.h"
#include "models/train/state/state.h"
#include "runtime/config/config.h"

/* The largest number that can be uploaded with that precision. */
double state_largest(enum precision precision);

/* Each number that was read, by its name; those of the model at most `largest` in size. Errors: BAD_INPUT
 * that names file, object, value and what is allowed. */
int state_check_values(const struct checkpoint *checkpoint, double largest, const char *path);

/* What numbers say of each other and of `was`, the configuration beside them. Errors: as above. */
int state_check_place(const struct state *state, const struct config *was, const char *path);

#endif
