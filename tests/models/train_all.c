/* train_all CONFIG.toml LIST: trains once for each line of LIST, one training after the other in the same
 * processes, as gnntrain does once. A line is NAME SECTION.KEY=VALUE...; its run goes to run.NAME. Most of
 * what many short runs of gnntrain take is the start of their processes. Rank 0 prints "NAME BYTES" a line:
 * the estimate of the activations and buffers of the fullest rank. */
#include <stdio.h>
#include <string.h>

#include "models/session/job.h"
#include "models/train/rank_consistency.h"
#include "models/train/state/rundir.h"
#include "runtime/base/base.h"

enum { SETTINGS = 24, LINE = 1024 };

static struct job job; /* large */

static int read_settings(char *line, const char *config, const char **name) {
  static char folder[64];
  const char *set[SETTINGS] = {folder, "log.overwrite=true"};
  int count = 2;
  char *rest = NULL;
  *name = strtok_r(line, " \n", &rest);
  snprintf(folder, sizeof folder, "log.dir=run.%s", *name);
  for (char *word; (word = strtok_r(NULL, " \n", &rest));) {
    if (count == SETTINGS) FAIL(BAD_INPUT, "%s has more than %d settings", *name, SETTINGS);
    set[count++] = word;
  }
  TRY(comm_agree(&job.comm, config_read(&job.config, config, set, count)));
  return rank_consistency_config(&job.comm, &job.config);
}

static int print_buffers(const char *name) {
  const struct estimate *estimate = &job.footprint.host;
  int64_t bytes = 0;
  for (int i = 0; i < estimate->parts; i++)
    if (strcmp(estimate->part[i].name, "activations and buffers") == 0) bytes = estimate->part[i].bytes;
  TRY(comm_max_int64(&job.comm, &bytes));
  if (job.comm.rank == 0) printf("%s %lld\n", name, (long long)bytes);
  return OK;
}

static int train_with(struct rundir *rundir) {
  const struct rundir_from nothing = {0};
  TRY(trainer_start(&job.trainer, &job.run));
  TRY(rundir_claim(rundir, &job.run, &nothing));
  TRY(rundir_open(&job.run, 0));
  return trainer_run(&job.trainer, &job.run);
}

static int train(char *line, const char *config) {
  struct rundir rundir = {0};
  const char *name = "";
  TRY(read_settings(line, config, &name));
  TRY(job_setup(&job));
  TRY(print_buffers(name));
  int code = train_with(&rundir);
  job_free(&job);
  rundir_release(&rundir);
  job = (struct job){.comm = job.comm};
  return code;
}

static int train_all(const char *config, const char *path) {
  char line[LINE];
  FILE *list = fopen(path, "r");
  int code = OK;
  if (!list) FAIL(BAD_INPUT, "cannot open %s", path);
  while (code == OK && fgets(line, sizeof line, list)) code = train(line, config);
  fclose(list);
  return code;
}

int main(int argc, char **argv) {
  if (argc != 3) return BAD_INPUT;
  int code = comm_open(&job.comm, &argc, &argv);
  log_open(0);
  if (code == OK) code = train_all(argv[1], argv[2]);
  error_print(stderr, "train_all");
  if (code != OK) comm_abort(&job.comm, code);
  comm_close(&job.comm);
  return code;
}
