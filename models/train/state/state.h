/* state: everything a training goes on from after an interruption, on the host, in doubles: exact for either
 * precision, and resumable on another number of ranks and device, since parameters are the same on all. */
#ifndef MODELS_TRAIN_STATE_STATE_H
#define MODELS_TRAIN_STATE_STATE_H

#include "models/layers/model.h"
#include "models/train/state/snapshot.h"

/* The best evaluation so far: highest validation metric, ties to the lower validation loss, then the
 * earliest. */
struct best {
  int64_t epoch;          /* 0: none yet */
  double val, loss, test; /* NaN: no such nodes, or none yet */
};

struct state {
  int64_t run, epoch, step; /* index of the run; epochs and optimiser steps done in it */
  double seconds;           /* of the run's epochs, evaluation included, over all processes */
  int holds_best; /* read from a file with the best weights: w is of best.epoch, the moments are not */
  struct best best;
  int64_t count, statistics_count;
  double *w, *m, *v;  /* parameters and moments, [count] */
  double *statistics; /* running statistics of batch norm, layer after layer, [statistics_count] */
  double *best_w, *best_statistics;
  double *run_val, *run_test; /* results of the runs before this one, [train.runs] */
};

int state_init(struct state *state, const struct model *model, const struct run *run);
void state_free(struct state *state);

/* Device to host, for a checkpoint; and back. */
int state_capture(struct state *state, const struct model *model, struct run *run);
int state_restore(const struct state *state, struct model *model, struct run *run);
/* Brings the best weights to the host, where the device has better ones than the host. */
int state_capture_best(struct state *state, struct snapshots *snapshots, const struct model *model,
                       struct run *run);
/* Notes the evaluation of state->epoch when it is the best so far, and says whether it is. */
int state_offer(struct state *state, double val, double loss, double test);
/* Whether a run with the validation metric `val` is to be kept rather than an earlier one with `other`:
 * without validation nodes in either (NaN) the later is. */
int state_is_better(double val, double other);
/* A new run begins. */
void state_begin_run(struct state *state, int64_t run);

/* Writes the captured state (rank 0 writes; collective). best: the best parameters in place of the current.
 * Errors: FAILED, on every rank, naming the file and the system's reason. */
int state_write(struct state *state, const struct model *model, struct run *run, const char *path, int best);

/* What a state is read for: to train on from it, to look at what its weights do, or to copy its best. */
enum state_use { STATE_RESUME, STATE_EVALUATE, STATE_COPY };
/* Reads on every rank; results of earlier runs only to train on. Errors: BAD_INPUT for what no training
 * writes (see state_check.h); for another model, or one of other shapes; to train on also for another graph,
 * other features, labels or splits, for best weights alone and for a run that train.runs does not have. Else
 * they and other changed settings are noted, but not for a copy. */
int state_read(struct state *state, const struct model *model, struct run *run, const char *path,
               enum state_use use);
/* The run and epoch of a state's file. On one rank. */
int state_place(const char *path, int64_t *of_run, int64_t *epoch);

#endif
