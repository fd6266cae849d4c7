#include "models/train/state/rundir.h"

#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dataset/checkpoint.h"
#include "io/file/path_check.h"
#include "runtime/base/base.h"
#include "runtime/file/input.h"

const char *rundir_path(const struct config *config, const char *name, char *path) {
  snprintf(path, RUNDIR_PATH, "%s/%s", config->log.dir, name);
  return path;
}

static int write_config(const struct config *config, const char *path) {
  ENDED_BY(atomic_write_drop) struct atomic_write p = {0};
  FILE *out;
  TRY(atomic_write_open(&p, path));
  TRY(atomic_write_stream(&p, &out));
  config_write(config, out);
  return atomic_write_commit(&p);
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
  snprintf(copy, sizeof copy, "%s", file);
  return is_same(rundir_path(config, "checkpoints", path), dirname(copy));
}

int rundir_has(const struct config *config, const struct rundir_from *from) {
  if (!from->resume || from->file[0] == '\0') return from->resume;
  return is_in_checkpoints(config, from->file);
}

/* What is written beside checkpoints/. */
static const char *const written[] = {"best.h5", "config.toml", "metrics.jsonl", "trace.json", "lock"};

/* The dataset is never written to, nor removed. */
static int check_dataset(const struct config *config) {
  const char *dataset = config->dataset.path;
  char path[RUNDIR_PATH];
  int is_written = is_in_checkpoints(config, dataset);
  for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
    is_written |= is_same(rundir_path(config, written[i], path), dataset);
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
    if (access(rundir_path(config, left[i], path), F_OK) == 0)
      *holds = 1;
    else if (input_code(errno) == FAILED)
      FAIL(FAILED, "%s: cannot be read: %s", path, strerror(errno));
  }
  TRY(checkpoint_newest(rundir_path(config, "checkpoints", path), newest, sizeof newest));
  *holds |= newest[0] != '\0';
  return OK;
}

/* A run that ended, whose checkpoints are gone, would begin again and lose its results. */
static int check_goes_on(const struct config *config) {
  char path[RUNDIR_PATH], newest[RUNDIR_PATH + 64];
  TRY(checkpoint_newest(rundir_path(config, "checkpoints", path), newest, sizeof newest));
  if (newest[0] == '\0' && access(rundir_path(config, "best.h5", path), F_OK) == 0)
    FAIL(BAD_INPUT,
         "log.dir: %s holds the results of a run and no checkpoint to go on from; use --set "
         "log.overwrite=true or another log.dir",
         config->log.dir);
  return OK;
}

/* Everybody may replace what is in such a folder; in one with the sticky bit, as /tmp, only their own. */
static int check_rights(const char *folder) {
  struct stat status;
  if (stat(folder, &status) == 0 && (status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX))
    FAIL(BAD_INPUT,
         "log.dir: every user may replace what is in %s; take that right away (chmod o-w) or name another "
         "log.dir",
         folder);
  return OK;
}

/* What stands under the names that are written gives way to a file, or is one. */
static int check_places(const struct config *config) {
  char path[RUNDIR_PATH];
  struct stat status;
  TRY(check_rights(config->log.dir));
  for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
    if (stat(rundir_path(config, written[i], path), &status) == 0 && !S_ISREG(status.st_mode))
      FAIL(BAD_INPUT, "log.dir: %s is a folder, device or pipe; remove it or name another log.dir", path);
  }
  if (lstat(rundir_path(config, "checkpoints", path), &status) == 0 && S_ISLNK(status.st_mode))
    FAIL(BAD_INPUT, "log.dir: %s is a symbolic link; a run keeps its checkpoints in its own folder", path);
  return check_rights(path);
}

static int check(const struct config *config, const struct rundir_from *from) {
  int stands = 0;
  TRY(check_places(config));
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
  return from->resume && from->file[0] ? path_check_readable(from->file) : OK;
}

static int check_free(struct rundir *dir, const struct config *config, const struct rundir_from *from) {
  TRY(check(config, from));
  return runlock_take(&dir->lock, config->log.dir, 0);
}

int rundir_check(struct rundir *dir, struct comm *comm, const struct config *config,
                 const struct rundir_from *from) {
  return comm_agree(comm, comm->rank == 0 ? check_free(dir, config, from) : OK);
}

static int claim(struct rundir *dir, const struct run *run, const struct rundir_from *from) {
  const struct config *config = run->config;
  char checkpoints[RUNDIR_PATH];
  TRY(check_places(config));
  if (make_folder(rundir_path(run->config, "checkpoints", checkpoints)) != OK)
    FAIL(BAD_INPUT, "log.dir: %s is not a folder that can be written: %s", config->log.dir, strerror(errno));
  TRY(runlock_take(&dir->lock, config->log.dir, 1));
  return check(config, from); /* a run may have come and gone meanwhile */
}

/* Syncing takes its time: another process may have taken the folder since the file was begun. */
static int still_holds(void *context) {
  return rundir_hold(context);
}

int rundir_claim(struct rundir *dir, struct run *run, const struct rundir_from *from) {
  run->rundir = dir;
  int code = run->comm->rank == 0 ? claim(dir, run, from) : OK;
  if (code == OK && run->comm->rank == 0) atomic_write_ask(still_holds, run);
  return comm_agree(run->comm, code);
}

int rundir_hold(const struct run *run) {
  return run->rundir ? runlock_hold(&run->rundir->lock, run->config->log.dir) : OK;
}

void rundir_release(struct rundir *dir) {
  atomic_write_ask(NULL, NULL);
  runlock_release(&dir->lock);
}

static int make(const struct run *run, int goes_on) {
  const struct config *config = run->config;
  char path[RUNDIR_PATH], checkpoints[RUNDIR_PATH], best[RUNDIR_PATH];
  TRY(make_folder(rundir_path(run->config, "checkpoints", checkpoints)));
  for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
    atomic_write_clean(rundir_path(config, written[i], path), 0);
  if (!goes_on) TRY(remove_old(checkpoints, rundir_path(run->config, "best.h5", best)));
  return write_config(config, rundir_path(config, "config.toml", path));
}

int rundir_open(struct run *run, int goes_on) {
  return comm_agree(run->comm, run->comm->rank == 0 ? make(run, goes_on) : OK);
}

int rundir_newest(struct comm *comm, const struct config *config, char *path, int64_t size) {
  char folder[RUNDIR_PATH];
  path[0] = '\0';
  rundir_path(config, "checkpoints", folder);
  TRY(comm_agree(comm, comm->rank == 0 ? checkpoint_newest(folder, path, size) : OK));
  return comm_broadcast(comm, path, size, 0);
}
