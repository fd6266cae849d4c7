/* gnntrain: trains a graph neural network on a whole graph. The way of the data, top to bottom:
 * command line -> configuration -> dataset -> partition -> shard -> model -> epochs -> checkpoint. */
#include "launch/gnntrain/gnntrain_options.h"

#include <signal.h>

#include "io/file/path_check.h"
#include "launch/program.h"
#include "models/core/propagation/layouts.h"
#include "models/session/evaluate.h"
#include "models/session/predict.h"
#include "models/session/predictions_file.h"
#include "models/session/weights.h"
#include "models/train/epoch_breakdown.h"
#include "models/train/rank_consistency.h"
#include "models/train/report.h"
#include "models/train/state/rundir.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static struct command_line line;
static struct rundir rundir;

static int is_training(void) {
  return !line.evaluate && !line.predict && !line.export && !line.dry_run && !line.plan.ranks;
}

static int read_config(struct job *job) {
  TRY(comm_agree(&job->comm, config_read(&job->config, line.config, line.set, line.set_count)));
  return rank_consistency_config(&job->comm, &job->config);
}

/* --resume beside --resume=FILE: the file is where a run begins that has no checkpoint of its own yet. */
static int settle_resume(struct job *job) {
  char newest[RUNDIR_PATH + 64];
  if (!line.resume_newest || line.checkpoint[0] == '\0') return OK;
  TRY(rundir_newest(&job->comm, &job->config, newest, sizeof newest));
  if (newest[0]) line.checkpoint = "";
  return OK;
}

static int train(struct job *job) {
  struct trainer *trainer = &job->trainer;
  struct run *run = &job->run;
  const struct rundir_from from = {line.resume, line.checkpoint};
  TRY(rundir_claim(&rundir, run, &from));
  if (line.resume) TRY(trainer_resume(trainer, run, line.checkpoint)); /* a refused one changes nothing */
  stop_remembers();
  TRY(rundir_open(run, trainer->resumed && rundir_has(run->config, &from)));
  TRY(trainer_run(trainer, run));
  const struct report report = {.state = &trainer->state,
                                .times = &trainer->times,
                                .metric = trainer->objective.metric,
                                .host_estimate = estimate_total(&job->footprint.host),
                                .device_estimate = estimate_total(&job->footprint.device)};
  return report_closing(&report, run);
}

static int print_profile(struct job *job) {
  char path[RUNDIR_PATH];
  if (!line.profile) return OK;
  log_result(" ");
  TRY(epoch_breakdown_print(&job->comm));
  TRY(profile_print(&job->comm));
  TRY(job_print_startup(job));
  TRY(layouts_print(&job->trainer.model.propagation, &job->run));
  rundir_path(&job->config, "trace.json", path);
  TRY(comm_agree(&job->comm, job->comm.rank == 0 ? rundir_hold(&job->run) : OK));
  TRY(profile_write_trace(&job->comm, path));
  log_result("  trace in %s", path);
  return OK;
}

/* A file that is no checkpoint is found before the graph is read. */
static int check_checkpoint(struct job *job) {
  const char *file = line.evaluate ? line.evaluate : line.predict ? line.predict : line.checkpoint;
  int64_t run, epoch;
  if (file[0] == '\0') return OK;
  return comm_agree(&job->comm, job->comm.rank == 0 ? state_place(file, &run, &epoch) : OK);
}

/* What is to be written stands where nothing is that is read, nor anything else of the user's. */
static int check_out(const struct job *job) {
  const char *checkpoint = line.predict ? line.predict : line.evaluate;
  const char *inputs[] = {line.config, job->config.dataset.path, checkpoint, NULL};
  TRY(path_check_writable(line.out, inputs));
  return line.predict ? predictions_file_check(line.out) : evaluate_check_file(line.out);
}

/* Settings, the folder of the run, other files; job_setup looks at the dataset's header next, and only then
 * at anything that takes its time. */
static int check_ahead(struct job *job) {
  TRY(read_config(job));
  TRY(job_check_settings(job));
  TRY(settle_resume(job));
  const struct rundir_from from = {line.resume, line.checkpoint};
  if (is_training()) TRY(rundir_check(&rundir, &job->comm, &job->config, &from));
  if (line.out) TRY(comm_agree(&job->comm, job->comm.rank == 0 ? check_out(job) : OK));
  TRY(comm_agree(&job->comm, job->comm.rank == 0 ? check_dataset_is_made(&job->config) : OK));
  return check_checkpoint(job);
}

static int open_job(struct job *job) {
  TRY(job_open(job));
  if (!line.evaluate || !line.out) return OK;
  return comm_agree(&job->comm, evaluate_check(&job->config, &job->dataset));
}

/* --check: no device is opened, so it serves where there is none of the kind that is to train. */
static int print_settings(struct job *job) {
  if (job->comm.rank == 0) config_write(&job->config, stdout);
  return OK;
}

static int run_job(struct job *job) {
  if (line.profile) profile_enable();
  if (line.export)
    return comm_agree(&job->comm, job->comm.rank == 0 ? weights_export(line.export, line.out) : OK);
  if (line.plan.ranks) {
    TRY(read_config(job));
    return plan_run(&line.plan, job);
  }
  TRY(check_ahead(job));
  TRY(open_job(job));
  if (line.check) return print_settings(job);
  job->levels.predicts = line.predict != NULL;
  TRY(job_build(job));
  TRY(print_banner(job, &line));
  TRY(job_check_memory(job));
  if (line.dry_run) program_print(&job->trainer.model.program);
  if (line.dry_run) return OK;
  TRY(PROFILE_HOST("upload", trainer_start(&job->trainer, &job->run)));
  if (line.evaluate) return trainer_evaluate(&job->trainer, &job->run, line.evaluate, line.out);
  if (line.predict) return trainer_predict(&job->trainer, &job->run, line.predict, line.out);
  TRY(train(job));
  return print_profile(job);
}

/* A dry run is there to be read. */
static enum log_level log_level(void) {
  if (line.quiet) return LOG_RESULT;
  return line.verbose || line.dry_run ? LOG_DETAIL : LOG_INFO;
}

/* usage: what reading the command line gave. */
static int run_on_ranks(int usage, int *argc, char ***argv) {
  static struct job job; /* large: settings and paths */
  int code = comm_open(&job.comm, argc, argv);
  log_open(job.comm.rank == 0);
  log_show(log_level());
  if (code == OK) code = comm_agree(&job.comm, usage);
  if (code == OK) code = run_job(&job);
  error_print(stderr, "gnntrain");
  if (code != OK && job.comm.size != 1 && !error_is_agreed())
    comm_abort(&job.comm, code); /* the others do not know yet */
  job_free(&job);
  rundir_release(&rundir);
  comm_close(&job.comm);
  profile_free();
  return code;
}

/* Whether anybody reads what it says is no reason to lose what it computes. */
static int run_program(int argc, char **argv) {
  int usage = command_line_read(&line, argc, argv), prints = usage == OK && (line.help || line.version);
  if (usage == OK && line.plan.ranks && !prints) usage = plan_wish_check(&line.plan);
  if (usage == OK && !prints && is_training()) stop_leaves(STOPPED);
  signal(SIGPIPE, SIG_IGN);
  if (program_start() != OK) {
    error_print(stderr, "gnntrain");
    return FAILED;
  }
  if (!prints) return run_on_ranks(usage, &argc, &argv);
  if (line.version && !line.help) print_version("gnntrain");
  if (!line.help) return OK;
  const int code = command_line_help(&line);
  error_print(stderr, "gnntrain");
  return code;
}

int main(int argc, char **argv) {
  return program_end(run_program(argc, argv), "gnntrain");
}
