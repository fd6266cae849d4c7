/* resume: what a run that goes on from a checkpoint finds in its folder, and what of it must go: the files of
 * later epochs and runs are of a branch that is left. */
#ifndef MODELS_TRAIN_STATE_RESUME_H
#define MODELS_TRAIN_STATE_RESUME_H

#include "models/train/state/state.h"

/* Collective, once a run has been resumed. Writes the state where it comes from elsewhere; sees to a best.h5
 * of a later state, which is removed or, from the second run on, written again as the runs before left it;
 * then removes the checkpoints beyond the state's run and epoch, so that the ones to come are the newest
 * again. A crash on the way leaves files that can be resumed. */
int resume_cut_back(struct state *state, const struct model *model, struct run *run);

#endif
