/* rundir: the folder of a run: config.toml, metrics.jsonl, best.h5 and checkpoints/. A finished or
 * interrupted run is never overwritten unless log.overwrite says so or it is resumed. */
#ifndef MODELS_RUNDIR_H
#define MODELS_RUNDIR_H

#include "models/run.h"

enum { RUNDIR_PATH = CONFIG_TEXT + 64 };

/* Collective, before any work is done. Errors: BAD_INPUT when a run stands there that may not be replaced. */
int rundir_check(struct comm *comm, const struct config *config, int resume);

/* Collective; rank 0 makes the folder, removes the checkpoints of a run that is replaced and writes
 * config.toml. Errors: BAD_INPUT when the folder cannot be made. */
int rundir_open(struct run *run, int resume);

/* <dir>/checkpoints and <dir>/best.h5 into path[RUNDIR_PATH]. */
const char *rundir_checkpoints(const struct run *run, char *path);
const char *rundir_best(const struct run *run, char *path);

#endif
