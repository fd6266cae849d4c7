/* rundir: the folder of a run: config.toml, metrics.jsonl, best.h5 and checkpoints/. A finished or
 * interrupted run is never overwritten unless log.overwrite says so or it is resumed. */
#ifndef MODELS_TRAIN_STATE_RUNDIR_H
#define MODELS_TRAIN_STATE_RUNDIR_H

#include "models/core/run.h"
#include "models/train/state/runlock.h"

enum { RUNDIR_PATH = CONFIG_TEXT + 64 };

/* On rank 0 for as long as a run writes there. */
struct rundir {
  struct runlock lock;
};

/* What a run goes on from: nothing; the newest checkpoint of its folder, file ""; or a file. */
struct rundir_from {
  int resume;
  const char *file;
};

/* Collective, before any work is done; makes nothing. Errors: BAD_INPUT when a run stands there that may not
 * be replaced, or that `from` is not of, or another process writes one; when there is no such file. */
int rundir_check(struct rundir *dir, struct comm *comm, const struct config *config,
                 const struct rundir_from *from);

/* Collective; rank 0 makes the folder and locks it: from here on the run is this process's. Errors: those of
 * rundir_check, which may have changed since; BAD_INPUT when the folder cannot be made. Where the file system
 * has no locks, a line says so. */
int rundir_claim(struct rundir *dir, struct run *run, const struct rundir_from *from);
void rundir_release(struct rundir *dir);

/* On rank 0, before something is written: the folder is still this run's. Errors: FAILED when it was renamed,
 * removed or replaced, or when another process has taken it since. */
int rundir_hold(const struct run *run);

/* Whether what `from` names is the newest, or another, of the folder's own checkpoints. */
int rundir_has(const struct config *config, const struct rundir_from *from);

/* Collective; rank 0 writes config.toml and removes what killed writers left; and unless the folder's own run
 * goes on, its checkpoints and best.h5. */
int rundir_open(struct run *run, int goes_on);

/* <dir>/<name>, as <dir>/checkpoints, into path[RUNDIR_PATH], which it returns. */
const char *rundir_path(const struct config *config, const char *name, char *path);

/* Collective. The newest checkpoint of the folder into path[size], "" when there is none. */
int rundir_newest(struct comm *comm, const struct config *config, char *path, int64_t size);

#endif
