/* rundir: the folder of a run: config.toml, metrics.jsonl, best.h5 and checkpoints/. A finished or
 * interrupted run is never overwritten unless log.overwrite says so or it is resumed. */
#ifndef MODELS_RUNDIR_H
#define MODELS_RUNDIR_H

#include "models/run.h"

enum { RUNDIR_PATH = CONFIG_TEXT + 64 };

/* Rank 0 locks the file `lock` of the folder for as long as a run writes there; the system releases it when
 * the process ends, however it ends. */
struct rundir {
  int held, file;
};

/* Collective, before any work is done; makes nothing. Errors: BAD_INPUT when a run stands there that may not
 * be replaced, or another process writes one. */
int rundir_check(struct rundir *dir, struct comm *comm, const struct config *config, int resume);

/* Collective; rank 0 makes the folder and locks it: from here on the run is this process's. Errors: those of
 * rundir_check, which may have changed since; BAD_INPUT when the folder cannot be made. Where the file system
 * has no locks, a line says so. */
int rundir_claim(struct rundir *dir, struct run *run, int resume);
void rundir_release(struct rundir *dir);

/* Collective; rank 0 removes the checkpoints of a run that is replaced and writes config.toml. */
int rundir_open(struct run *run, int resume);

/* <dir>/checkpoints and <dir>/best.h5 into path[RUNDIR_PATH]. */
const char *rundir_checkpoints(const struct run *run, char *path);
const char *rundir_best(const struct run *run, char *path);

#endif
