/* snapshot: weights and running statistics as they were after an evaluation, kept on the device until the
 * host has learnt whether that evaluation was the best; of the best, until a better one comes. The epochs
 * that have been queued meanwhile do not touch them. */
#ifndef MODELS_TRAIN_STATE_SNAPSHOT_H
#define MODELS_TRAIN_STATE_SNAPSHOT_H

#include "models/layers/model.h"
#include "runtime/device/arena.h"

/* One of the best, one of each evaluation that the host does not know yet, at most two. */
enum { SNAPSHOTS = 3 };

struct snapshots {
  struct snapshot {
    void *weights; /* real [parameters.count] */
    void *running; /* real, of all layers one after the other */
    int64_t epoch;
  } all[SNAPSHOTS];
  int best; /* index; -1: the host has the best weights, or there are none */
};

void snapshots_plan(struct snapshots *snapshots, const struct model *model, struct run *run,
                    struct arena *arena);
/* Forgets all: a new run begins, or one goes on from a checkpoint. */
void snapshots_reset(struct snapshots *snapshots);

/* Queues a copy of the model's weights: those of `epoch`. */
int snapshot_take(struct snapshots *snapshots, const struct model *model, struct run *run, int64_t epoch);
/* The snapshot of `epoch`, one of the last two taken, is the best. */
void snapshot_keep(struct snapshots *snapshots, int64_t epoch);
/* Puts the weights of `epoch`, one of the last two taken, back into the model. */
int snapshot_restore(const struct snapshots *snapshots, struct model *model, struct run *run, int64_t epoch);

#endif
