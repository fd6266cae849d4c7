#include "models/rundir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "io/metrics.h"
#include "runtime/error.h"

const char *rundir_checkpoints(const struct run *run, char *path) {
  snprintf(path, RUNDIR_PATH, "%s/checkpoints", run->config->log.dir);
  return path;
}

const char *rundir_best(const struct run *run, char *path) {
  snprintf(path, RUNDIR_PATH, "%s/best.h5", run->config->log.dir);
  return path;
}

static int write_config(const struct config *config, const char *path) {
  char temporary[RUNDIR_PATH + 8];
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  FILE *file = fopen(temporary, "w");
  if (!file) FAIL(BAD_INPUT, "log.dir: cannot write %s: %s", temporary, strerror(errno));
  config_write(config, file);
  int failed = fflush(file) != 0 || fsync(fileno(file)) != 0;
  failed |= fclose(file) != 0;
  if (failed || rename(temporary, path) != 0) {
    unlink(temporary);
    FAIL(FAILED, "%s: cannot be written: %s", path, strerror(errno));
  }
  return OK;
}

/* What an overwritten run left must not be resumed later. */
static int remove_old(const char *checkpoints, const char *best) {
  char path[RUNDIR_PATH + 64];
  for (;;) {
    TRY(checkpoint_newest(checkpoints, path, sizeof path));
    if (path[0] == '\0') break;
    if (unlink(path) != 0) FAIL(FAILED, "%s: cannot be removed: %s", path, strerror(errno));
  }
  if (unlink(best) != 0 && errno != ENOENT) FAIL(FAILED, "%s: cannot be removed: %s", best, strerror(errno));
  return OK;
}

static int check(const struct config *config, int resume) {
  char path[RUNDIR_PATH];
  snprintf(path, sizeof path, "%s/config.toml", config->log.dir);
  if (access(path, F_OK) == 0 && !resume && !config->log.overwrite)
    FAIL(BAD_INPUT,
         "log.dir: %s already holds a run; use --resume, --set log.overwrite=true or another log.dir",
         config->log.dir);
  return OK;
}

int rundir_check(struct comm *comm, const struct config *config, int resume) {
  return comm_agree(comm, comm->rank == 0 ? check(config, resume) : OK);
}

static int make(const struct run *run, int resume) {
  const struct config *config = run->config;
  char path[RUNDIR_PATH], checkpoints[RUNDIR_PATH], best[RUNDIR_PATH];
  snprintf(path, sizeof path, "%s/config.toml", config->log.dir);
  if (make_folder(rundir_checkpoints(run, checkpoints)) != OK)
    FAIL(BAD_INPUT, "log.dir: %s is not a folder that can be written: %s", config->log.dir, strerror(errno));
  if (!resume) TRY(remove_old(checkpoints, rundir_best(run, best)));
  return write_config(config, path);
}

int rundir_open(struct run *run, int resume) {
  int code = run->comm->rank == 0 ? make(run, resume) : OK;
  return comm_agree(run->comm, code);
}
