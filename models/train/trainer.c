#include "models/train/trainer.h"

#include <math.h>

#include "io/dataset/checkpoint.h"
#include "models/train/divergence.h"
#include "models/train/report.h"
#include "models/train/state/resume.h"
#include "models/train/state/rundir.h"
#include "runtime/base/base.h"
#include "runtime/base/stop.h"
#include "runtime/profile/profile.h"

static void plan(struct trainer *trainer, struct run *run) {
  objective_plan(&trainer->objective, run, model_chunk_rows(&trainer->model, run), &trainer->arena);
  rates_plan(&trainer->epoch.rates, &trainer->arena);
  snapshots_plan(&trainer->snapshots, &trainer->model, run, &trainer->arena);
}

static void measure(struct trainer *trainer, struct run *run) {
  trainer->arena = arena_measure(run->device);
  plan(trainer, run);
}

/* What training may still take of the device; of the machine, where that is the device. */
static int64_t memory_left(const struct run *run) {
  const struct device *device = run->device;
  if (device->ops->on_host) return memory_limit(run->comm->local_size) - memory_used();
  const int64_t left = device->ops->memory.left(run->device);
  return left < 0 ? INT64_MAX : left;
}

static int64_t lacks_memory(const struct trainer *trainer, const struct run *run) {
  return model_bytes(&trainer->model) + trainer->arena.used > memory_left(run);
}

/* Whether what is to wait in the host's memory finds no room there. */
static int64_t crowds_host(const struct trainer *trainer, const struct run *run) {
  return trainer->model.program.saved.waiting > memory_limit(run->comm->local_size) - memory_used();
}

static int save_memory(struct trainer *trainer, struct run *run, int saving) {
  TRY(model_save(&trainer->model, run, saving));
  measure(trainer, run);
  return OK;
}

/* The least saving with which it fits on all ranks; the most that there is, where none does. */
static int save_to_fit(struct trainer *trainer, struct run *run) {
  for (int saving = 0;; saving++) {
    int64_t state[] = {lacks_memory(trainer, run), model_most_saving(&trainer->model, run),
                       crowds_host(trainer, run)};
    TRY(comm_reduce(run->comm, state, 3, NUMBER_INT64, REDUCE_MAX));
    if (state[2] && saving > 0) return save_memory(trainer, run, saving - 1);
    if (!state[0] || saving >= state[1]) return OK;
    TRY(save_memory(trainer, run, saving + 1));
  }
}

int trainer_init(struct trainer *trainer, struct run *run) {
  objective_init(&trainer->objective, run);
  TRY(model_init(&trainer->model, run));
  trainer->epoch = (struct epoch){
      .model = &trainer->model, .objective = &trainer->objective, .snapshots = &trainer->snapshots};
  measure(trainer, run);
  return save_to_fit(trainer, run);
}

void trainer_estimate(const struct trainer *trainer, const struct run *run, struct estimate *host,
                      struct estimate *device) {
  model_estimate(&trainer->model, run, host, device);
  estimate_add(host, "results of epochs",
               RESULTS * epoch_result_bytes(&trainer->epoch) +
                   objective_host_bytes(&trainer->objective, run));
  estimate_add(device, "labels, splits and evaluated weights on the device", trainer->arena.used);
}

static int begin(struct trainer *trainer, struct run *run) {
  return epoch_begin(&trainer->epoch, run, trainer->state.epoch, trainer->state.step);
}

int trainer_start(struct trainer *trainer, struct run *run) {
  int code = arena_allocate(&trainer->arena, "labels, splits and evaluated weights");
  if (code == OK) code = epoch_open(&trainer->epoch, run);
  TRY(comm_agree(run->comm, code));
  plan(trainer, run);
  trainer->ahead = !run->device->ops->on_host; /* there is nothing to gain where the host does the work */
  TRY(objective_start(&trainer->objective, run));
  TRY(model_start(&trainer->model, run));
  /* Only now do the layers know which running statistics they keep. */
  TRY(comm_agree(run->comm, state_init(&trainer->state, &trainer->model, run)));
  return begin(trainer, run);
}

void trainer_free(struct trainer *trainer, struct run *run) {
  if (run->comm) comm_let_go(run->comm);
  epoch_close(&trainer->epoch, run);
  metrics_close(&trainer->metrics);
  state_free(&trainer->state);
  arena_free(&trainer->arena);
  objective_free(&trainer->objective);
  times_free(&trainer->times);
  model_free(&trainer->model, run);
  *trainer = (struct trainer){0};
}

/* Run r uses seed + r and the split of that run; set-up has read that of run 0. */
static int select_run(struct trainer *trainer, struct run *run, int64_t index) {
  run->index = index;
  if (index > 0 && run->dataset->splits > 1) {
    int64_t split = objective_split(run, index);
    TRY(shard_read_split(run->comm, run->dataset, run->directory, split, run->shard));
    TRY(objective_start(&trainer->objective, run));
  }
  return model_reset(&trainer->model, run);
}

static int load(struct trainer *trainer, struct run *run, const char *path, enum state_use use) {
  struct state *state = &trainer->state;
  TRY(state_read(state, &trainer->model, run, path, use));
  TRY(select_run(trainer, run, state->run));
  return state_restore(state, &trainer->model, run);
}

/* The newest was found by its name and is what it says: files of later epochs go by their names, too. */
static int check_name(const struct state *state, const struct run *run, const char *path) {
  char folder[RUNDIR_PATH], own[RUNDIR_PATH + 64];
  checkpoint_path(own, sizeof own, rundir_path(run->config, "checkpoints", folder), state->run, state->epoch);
  if (strcmp(own, path) != 0)
    FAIL(BAD_INPUT, "%s: says that it stands in run %lld after epoch %lld, which is not what it is named for",
         path, (long long)state->run, (long long)state->epoch);
  return OK;
}

int trainer_resume(struct trainer *trainer, struct run *run, const char *path) {
  char newest[RUNDIR_PATH + 64];
  const struct state *state = &trainer->state;
  if (path[0] == '\0') {
    TRY(rundir_newest(run->comm, run->config, newest, sizeof newest));
    if (newest[0] == '\0') {
      log_info("no checkpoint in %s: starting at epoch 0", run->config->log.dir);
      return OK;
    }
    path = newest;
  }
  TRY(load(trainer, run, path, STATE_RESUME));
  if (path == newest) TRY(comm_agree(run->comm, check_name(state, run, path)));
  trainer->resumed = 1;
  log_info("resuming run %lld after epoch %lld from %s", (long long)state->run, (long long)state->epoch,
           path);
  return OK;
}

int trainer_load(struct trainer *trainer, struct run *run, const char *path) {
  const struct state *state = &trainer->state;
  TRY(load(trainer, run, path, STATE_EVALUATE));
  int64_t epoch = state->holds_best ? state->best.epoch : state->epoch;
  log_info("weights of run %lld after epoch %lld%s from %s", (long long)state->run, (long long)epoch,
           state->holds_best ? ", the best on validation," : "", path);
  return OK;
}

/* What the ranks tell each other after an epoch, in one reduction. */
struct sums {
  double loss, stop, sent;
  struct tally tally;
};

static int is_evaluated(const struct run *run, int64_t epoch) {
  return epoch % run->config->train.eval_every == 0 || epoch == run->config->train.epochs;
}

static int is_saved(const struct run *run, int64_t epoch) {
  int64_t every = run->config->checkpoint.every;
  return every > 0 && epoch % every == 0 && epoch < run->config->train.epochs;
}

/* best.h5 holds the best of all runs so far that were evaluated, by validation. */
static int is_best_run(const struct state *state) {
  if (state->best.epoch == 0) return 0;
  for (int64_t r = 0; r < state->run; r++) {
    if (!state_is_better(state->best.val, state->run_val[r])) return 0;
  }
  return 1;
}

/* Behind a checkpoint, so that best.h5 is never of a later state than what a run can go on from. */
static int save_best(struct trainer *trainer, struct run *run) {
  struct state *state = &trainer->state;
  char path[RUNDIR_PATH];
  if (!is_best_run(state) || state->best.epoch == trainer->best_saved) return OK;
  trainer->best_saved = state->best.epoch;
  return state_write(state, &trainer->model, run, rundir_path(run->config, "best.h5", path), 1);
}

/* Metrics first: a checkpoint never stands beyond them. */
static int ready_to_save(struct trainer *trainer, const struct run *run) {
  TRY(metrics_sync(&trainer->metrics));
  return rundir_hold(run);
}

static int prune(const struct run *run, const char *folder, int64_t index) {
  TRY(rundir_hold(run));
  return checkpoint_prune(folder, index, run->config->checkpoint.keep);
}

static int save(struct trainer *trainer, struct run *run) {
  struct state *state = &trainer->state;
  char folder[RUNDIR_PATH], path[RUNDIR_PATH + 64];
  TRY(comm_agree(run->comm, run->comm->rank == 0 ? ready_to_save(trainer, run) : OK));
  TRY(state_capture(state, &trainer->model, run));
  TRY(state_capture_best(state, &trainer->snapshots, &trainer->model, run));
  checkpoint_path(path, sizeof path, rundir_path(run->config, "checkpoints", folder), state->run,
                  state->epoch);
  TRY(PROFILE_HOST("checkpoint", state_write(state, &trainer->model, run, path, 0)));
  return comm_agree(run->comm, run->comm->rank == 0 ? prune(run, folder, state->run) : OK);
}

/* The row of metrics.jsonl and of the log for an epoch, from sums over ranks. */
static struct metrics_row row_of(const struct objective *objective, const struct sums *sums,
                                 const struct run *run, int64_t epoch, double ms) {
  double metric[SPLIT_COUNT], loss[SPLIT_COUNT];
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) {
    metric[s] = is_evaluated(run, epoch) ? tally_metric(objective, &sums->tally, s) : NAN;
    loss[s] = is_evaluated(run, epoch) && objective->nodes[s] > 0 ? sums->tally.loss[s] : NAN;
  }
  return (struct metrics_row){.run = run->index,
                              .epoch = epoch,
                              .loss = sums->loss,
                              .train = metric[SPLIT_TRAIN],
                              .val = metric[SPLIT_VAL],
                              .test = metric[SPLIT_TEST],
                              .ms = ms,
                              .train_loss = loss[SPLIT_TRAIN],
                              .val_loss = loss[SPLIT_VAL],
                              .test_loss = loss[SPLIT_TEST],
                              .lr = rates_lr(run->config, epoch),
                              .sent_bytes = (int64_t)sums->sent,
                              .time = round(1e6 * (profile_epoch() + profile_clock())) / 1e6};
}

static int record(struct trainer *trainer, struct run *run, const struct sums *sums,
                  const struct metrics_row *row) {
  double val_loss = sums->tally.loss[SPLIT_VAL];
  const int is_best = is_evaluated(run, row->epoch) &&
                      state_offer(&trainer->state, row->val, val_loss, row->test);
  if (is_best) snapshot_keep(&trainer->snapshots, row->epoch);
  int code = run->comm->rank == 0 ? metrics_epoch(&trainer->metrics, row) : OK;
  epoch_log_add(&trainer->log, &trainer->times, run, row, is_best);
  return code;
}

static int count_epoch(struct trainer *trainer, double ms) {
  double seconds;
  TRY(times_add(&trainer->times, ms, &seconds));
  trainer->state.epoch++;
  trainer->state.step++;
  trainer->state.seconds += seconds;
  return OK;
}

/* Learns what came of the oldest epoch under way, and what follows from it. */
static int finish_epoch(struct trainer *trainer, struct run *run) {
  struct objective *objective = &trainer->objective;
  int64_t epoch = trainer->state.epoch + 1;
  struct result result;
  TRY(epoch_collect(&trainer->epoch, run, epoch, &result));
  struct sums sums = {.loss = result.outcome.loss,
                      .stop = stop_requested() != 0,
                      .sent = (double)trainer->epoch.training.sent};
  if (is_evaluated(run, epoch)) sums.tally = tally_of(&result.outcome);
  TRY(comm_reduce(run->comm, &sums, (int64_t)(sizeof sums / sizeof(double)), NUMBER_DOUBLE, REDUCE_SUM));
  if (is_evaluated(run, epoch) && objective_ranks(objective))
    TRY(objective_rank(objective, run, result.logits, &sums.tally));
  TRY(count_epoch(trainer, result.ms));
  if (sums.stop > 0) trainer->stop = 1;
  const struct divergence at = {epoch, sums.loss, &sums.tally, result.scalars.frozen};
  TRY(divergence_check(&at, &trainer->first_loss, &trainer->epoch, run));
  struct metrics_row row = row_of(objective, &sums, run, epoch, result.ms);
  return record(trainer, run, &sums, &row);
}

/* Whether patience ends after `epoch`, which is evaluated, unless that evaluation is the best. */
static int out_of_patience(const struct trainer *trainer, const struct run *run, int64_t epoch) {
  int64_t patience = run->config->train.patience, best = trainer->state.best.epoch;
  return patience > 0 && best > 0 && epoch - best >= patience && is_evaluated(run, epoch);
}

/* One more epoch may be queued while one is under way, but not while what follows from that one is open. */
static int may_queue(const struct trainer *trainer, const struct run *run) {
  int64_t under_way = trainer->epoch.queued - trainer->state.epoch;
  if (trainer->epoch.queued >= run->config->train.epochs || under_way > trainer->ahead) return 0;
  if (trainer->stop || out_of_patience(trainer, run, trainer->epoch.queued)) return 0;
  return under_way == 0 || !is_saved(run, trainer->epoch.queued);
}

/* What the profile calls an epoch: the process's first one warms up, and counts where no other follows. */
static const char *region_of(const struct trainer *trainer, const struct run *run, int64_t epoch) {
  int first = trainer->times.epochs == 0 && trainer->epoch.queued == trainer->state.epoch;
  return first && epoch < run->config->train.epochs ? "first epoch" : "epoch";
}

static int queue_epoch(struct trainer *trainer, struct run *run) {
  int64_t epoch = trainer->epoch.queued + 1;
  if (trainer->epoch.queued == trainer->state.epoch) times_start(&trainer->times);
  TRY(PROFILE(region_of(trainer, run, epoch), epoch_queue(&trainer->epoch, run, epoch)));
  if (is_evaluated(run, epoch)) TRY(PROFILE("evaluation", epoch_queue_evaluation(&trainer->epoch, run)));
  return epoch_queue_result(&trainer->epoch, run);
}

static int save_and_stop(struct trainer *trainer, struct run *run) {
  TRY(save(trainer, run));
  TRY(save_best(trainer, run));
  FAIL(STOPPED, "stopped by a signal after epoch %lld; the checkpoint is in %s: go on with --resume",
       (long long)trainer->state.epoch, run->config->log.dir);
}

/* The device works one epoch ahead of what the host knows. */
static int train_run(struct trainer *trainer, struct run *run) {
  const struct state *state = &trainer->state;
  trainer->best_saved = 0;
  trainer->times.used = 0;
  trainer->first_loss = 0;
  TRY(begin(trainer, run));
  for (;;) {
    int queues = may_queue(trainer, run);
    if (queues) TRY(queue_epoch(trainer, run));
    if (trainer->epoch.queued == state->epoch) break;
    if (queues && trainer->epoch.queued - state->epoch <= trainer->ahead) continue;
    TRY(finish_epoch(trainer, run));
    if (trainer->epoch.queued > state->epoch) continue;
    if (trainer->stop) return comm_agree(run->comm, save_and_stop(trainer, run));
    if (!is_saved(run, state->epoch)) continue;
    TRY(save(trainer, run));
    TRY(save_best(trainer, run));
  }
  if (out_of_patience(trainer, run, state->epoch) && state->epoch < run->config->train.epochs)
    log_info("no better validation for %lld epochs: stopping early", (long long)run->config->train.patience);
  return OK;
}

static int write_final(struct trainer *trainer, struct run *run) {
  const struct best *best = &trainer->state.best;
  int64_t peak = run->device->ops->memory.peak(run->device);
  TRY(comm_max_int64(run->comm, &peak));
  if (run->comm->rank != 0) return OK;
  struct metrics_final row = {.run = run->index,
                              .best_epoch = best->epoch,
                              .epochs = trainer->state.epoch,
                              .val = best->val,
                              .test = best->test,
                              .seconds = trainer->state.seconds,
                              .peak_bytes = peak};
  return metrics_final(&trainer->metrics, &row);
}

static int finish_run(struct trainer *trainer, struct run *run) {
  struct state *state = &trainer->state;
  TRY(save(trainer, run));
  trainer->best_saved = 0; /* it says what the run ended with */
  TRY(save_best(trainer, run));
  TRY(write_final(trainer, run));
  report_run(state, run);
  state->run_val[state->run] = state->best.val;
  state->run_test[state->run] = state->best.test;
  return OK;
}

static int open_files(struct trainer *trainer, const struct config *config) {
  const int64_t epoch = trainer->resumed ? trainer->state.epoch : -1;
  TRY(metrics_open(&trainer->metrics, config->log.dir, trainer->state.run, epoch));
  return metrics_tensorboard(&trainer->metrics, config->log.dir,
                             config->log.tensorboard ? config->train.runs : 0, !trainer->resumed);
}

static int open_metrics(struct trainer *trainer, struct run *run) {
  return comm_agree(run->comm, run->comm->rank == 0 ? open_files(trainer, run->config) : OK);
}

int trainer_run(struct trainer *trainer, struct run *run) {
  if (trainer->resumed) TRY(resume_cut_back(&trainer->state, &trainer->model, run));
  TRY(open_metrics(trainer, run)); /* cut back last: checkpoints never stand beyond it */
  for (int64_t r = trainer->resumed ? trainer->state.run : 0; r < run->config->train.runs; r++) {
    if (!trainer->resumed) {
      state_begin_run(&trainer->state, r);
      TRY(select_run(trainer, run, r));
    }
    trainer->resumed = 0;
    const int code = train_run(trainer, run);
    epoch_log_end(&trainer->log, run);
    TRY(code);
    TRY(finish_run(trainer, run));
  }
  return OK;
}
