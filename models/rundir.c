#include "models/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "io/metrics.h"
#include "runtime/error.h"
#include "runtime/log.h"

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
  int64_t removed;
  TRY(checkpoint_cut_back(checkpoints, -1, 0, &removed));
  if (unlink(best) != 0 && errno != ENOENT) FAIL(FAILED, "%s: cannot be removed: %s", best, strerror(errno));
  return OK;
}

static int is_same(const char *path, const char *other) {
  struct stat a, b;
  return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int is_in_checkpoints(const struct config *config, const char *file) {
  char path[RUNDIR_PATH], copy[PATH_MAX];
  snprintf(path, sizeof path, "%s/checkpoints", config->log.dir);
  snprintf(copy, sizeof copy, "%s", file);
  return is_same(path, dirname(copy));
}

int rundir_has(const struct config *config, const struct rundir_from *from) {
  if (!from->resume || from->file[0] == '\0') return from->resume;
  return is_in_checkpoints(config, from->file);
}

/* The dataset is never written to, nor removed. */
static int check_dataset(const struct config *config) {
  static const char *const written[] = {"best.h5", "config.toml", "metrics.jsonl", "trace.json", "lock"};
  const char *dataset = config->dataset.path;
  char path[RUNDIR_PATH];
  int is_written = is_in_checkpoints(config, dataset);
  for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", config->log.dir, written[i]);
    is_written |= is_same(path, dataset);
  }
  if (is_written)
    FAIL(BAD_INPUT, "log.dir: the run in %s would write over the dataset %s; name another log.dir",
         config->log.dir, dataset);
  return OK;
}

/* Whether something of a run is there, its configuration or what it would be missed for. */
static int holds_run(const struct config *config, int *holds) {
  static const char *const left[] = {"config.toml", "metrics.jsonl", "best.h5"};
  char path[RUNDIR_PATH], newest[RUNDIR_PATH + 64] = "";
  *holds = 0;
  for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", config->log.dir, left[i]);
    *holds |= access(path, F_OK) == 0;
  }
  snprintf(path, sizeof path, "%s/checkpoints", config->log.dir);
  TRY(checkpoint_newest(path, newest, sizeof newest));
  *holds |= newest[0] != '\0';
  return OK;
}

/* A run that ended, whose checkpoints are gone, would begin again and lose its results. */
static int check_goes_on(const struct config *config) {
  char path[RUNDIR_PATH], newest[RUNDIR_PATH + 64];
  snprintf(path, sizeof path, "%s/checkpoints", config->log.dir);
  TRY(checkpoint_newest(path, newest, sizeof newest));
  snprintf(path, sizeof path, "%s/best.h5", config->log.dir);
  if (newest[0] == '\0' && access(path, F_OK) == 0)
    FAIL(BAD_INPUT,
         "log.dir: %s holds the results of a run and no checkpoint to go on from; use --set "
         "log.overwrite=true or another log.dir",
         config->log.dir);
  return OK;
}

static int check(const struct config *config, const struct rundir_from *from) {
  int stands = 0;
  TRY(check_dataset(config));
  if (!config->log.overwrite) TRY(holds_run(config, &stands));
  if (stands && !from->resume)
    FAIL(BAD_INPUT,
         "log.dir: %s already holds a run; use --resume, --set log.overwrite=true or another log.dir",
         config->log.dir);
  if (stands && !rundir_has(config, from))
    FAIL(
        BAD_INPUT,
        "log.dir: %s already holds a run, and %s is none of its checkpoints/; resume one of these, use --set "
        "log.overwrite=true or another log.dir",
        config->log.dir, from->file);
  if (stands && from->file[0] == '\0') TRY(check_goes_on(config));
  return from->resume && from->file[0] ? check_readable(from->file) : OK;
}

static int refuse_lock(int file, const struct config *config) {
  char owner[128] = "";
  if (pread(file, owner, sizeof owner - 1, 0) <= 0) snprintf(owner, sizeof owner, "another process");
  FAIL(BAD_INPUT, "log.dir: %s is in use by %s; wait for its end, stop it or name another log.dir",
       config->log.dir, owner);
}

/* Says in the file who holds it, for the message of those who come later. */
static void sign(int file) {
  char host[64] = "", owner[128];
  gethostname(host, sizeof host - 1);
  int length = snprintf(owner, sizeof owner, "process %ld on %s", (long)getpid(), host);
  if (ftruncate(file, 0) != 0 || pwrite(file, owner, (size_t)length, 0) != length)
    log_info("note: log.dir: the lock in use is not signed: %s", strerror(errno));
}

/* Takes the lock unless it is held already. make: the file, where it is not there. */
static int take_lock(struct rundir *dir, const struct config *config, int make) {
  char path[RUNDIR_PATH];
  if (dir->held) return OK;
  snprintf(path, sizeof path, "%s/lock", config->log.dir);
  int file = open(path, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0666);
  if (file < 0 && !make) return OK;
  if (file < 0) FAIL(BAD_INPUT, "log.dir: cannot write %s: %s", path, strerror(errno));
  int error = flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  int code = error == EWOULDBLOCK ? refuse_lock(file, config) : OK;
  if (code == OK && error && make)
    log_info("note: %s: cannot be locked (%s): mind that no other run writes there", path, strerror(error));
  if (error) {
    close(file);
  } else {
    *dir = (struct rundir){.held = 1, .file = file};
    sign(file);
  }
  TRY(code);
  return OK;
}

void rundir_release(struct rundir *dir) {
  if (dir->held) close(dir->file);
  *dir = (struct rundir){0};
}

static int check_free(struct rundir *dir, const struct config *config, const struct rundir_from *from) {
  TRY(check(config, from));
  return take_lock(dir, config, 0);
}

int rundir_check(struct rundir *dir, struct comm *comm, const struct config *config,
                 const struct rundir_from *from) {
  return comm_agree(comm, comm->rank == 0 ? check_free(dir, config, from) : OK);
}

static int claim(struct rundir *dir, const struct run *run, const struct rundir_from *from) {
  const struct config *config = run->config;
  char checkpoints[RUNDIR_PATH];
  if (make_folder(rundir_checkpoints(run, checkpoints)) != OK)
    FAIL(BAD_INPUT, "log.dir: %s is not a folder that can be written: %s", config->log.dir, strerror(errno));
  TRY(take_lock(dir, config, 1));
  return check(config, from); /* a run may have come and gone meanwhile */
}

int rundir_claim(struct rundir *dir, struct run *run, const struct rundir_from *from) {
  int code = run->comm->rank == 0 ? claim(dir, run, from) : OK;
  return comm_agree(run->comm, code);
}

static int make(const struct run *run, int goes_on) {
  const struct config *config = run->config;
  char path[RUNDIR_PATH], checkpoints[RUNDIR_PATH], best[RUNDIR_PATH], metrics[RUNDIR_PATH];
  snprintf(path, sizeof path, "%s/config.toml", config->log.dir);
  TRY(make_folder(rundir_checkpoints(run, checkpoints)));
  publish_clean(rundir_best(run, best), 0);
  snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", config->log.dir);
  publish_clean(metrics, 0);
  if (!goes_on) TRY(remove_old(checkpoints, best));
  return write_config(config, path);
}

int rundir_open(struct run *run, int goes_on) {
  int code = run->comm->rank == 0 ? make(run, goes_on) : OK;
  return comm_agree(run->comm, code);
}
