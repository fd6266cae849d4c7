/* recording: work on the device that is done again and again in the same way. The first time it is queued op
 * by op: workspaces grow and connections are made then. The second time it is recorded, and from then on the
 * recording is replayed, where the device can record and runtime.graph allows it. What changes from one time
 * to the next lies in the device's memory (struct scalars). */
#ifndef MODELS_TRAIN_RECORDING_H
#define MODELS_TRAIN_RECORDING_H

#include "models/core/run.h"

struct recording {
  struct device_graph *graph; /* NULL: not recorded */
  int64_t moves;              /* of the kernels' workspace when it was recorded */
  int64_t sent;               /* bytes that this rank's exchanges send when the work is done once */
  int warm, recorded;         /* was queued, was recorded before */
  int plain;                  /* could not be recorded: always op by op */
};

/* Queues the work on `subject`, in one of the two ways. Collective. */
int recording_run(struct recording *recording, void *subject, struct run *run,
                  int (*work)(void *subject, struct run *run));

/* Starts over: arguments of the work have changed. */
void recording_forget(struct recording *recording, struct run *run);

#endif
