/* trainer: epochs from the first to the last, what is remembered between them, and what is reported. */
#ifndef MODELS_TRAIN_TRAINER_H
#define MODELS_TRAIN_TRAINER_H

#include "io/metrics/metrics.h"
#include "models/train/epoch.h"
#include "models/train/epoch_log.h"
#include "models/train/state/state.h"
#include "models/train/times.h"

struct trainer {
  struct model model;
  struct objective objective;
  struct snapshots snapshots;
  struct epoch epoch; /* of these three */
  struct arena arena; /* labels, splits, rates, weights of evaluations */
  struct state state; /* after the last epoch that the host knows */
  struct times times;
  struct metrics metrics;
  struct epoch_log log;
  int64_t best_saved; /* epoch whose weights best.h5 has; 0: of nothing of this run */
  double first_loss;  /* of this run's epochs that this process has done; 0: none yet */
  int ahead;          /* epochs that the device may know and the host not, 0 or 1 */
  int stop;           /* a signal came on some rank */
  int resumed;        /* state came from a checkpoint: go on inside its run */
};

/* Builds the model and measures what it needs; nothing large is allocated. The trainer stays where it is from
 * here on. */
int trainer_init(struct trainer *trainer, struct run *run);
/* host and device may be one. */
void trainer_estimate(const struct trainer *trainer, const struct run *run, struct estimate *host,
                      struct estimate *device);
/* Allocates and uploads. Collective, as everything below. */
int trainer_start(struct trainer *trainer, struct run *run);
void trainer_free(struct trainer *trainer, struct run *run);

/* Goes on from that checkpoint; "": from the newest in the run directory, or from epoch 0 and says so. Writes
 * nothing. Errors: BAD_INPUT when it is of another model or dataset, or holds the best weights alone. */
int trainer_resume(struct trainer *trainer, struct run *run, const char *path);
/* Takes a checkpoint's weights, of whichever kind and run, to look at what they do. Errors: BAD_INPUT when
 * they are of another model or graph. */
int trainer_load(struct trainer *trainer, struct run *run, const char *path);

/* All epochs of all runs: log lines, metrics.jsonl, checkpoints, the closing table. Returns STOPPED after a
 * signal, once the checkpoint is on disk. Errors: FAILED when the loss stops being finite (epoch and layer
 * are named) or a file cannot be written. */
int trainer_run(struct trainer *trainer, struct run *run);

#endif
