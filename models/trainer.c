#include "models/trainer.h"

#include <math.h>
#include <stdlib.h>

#include "io/checkpoint.h"
#include "models/epoch.h"
#include "models/report.h"
#include "models/rundir.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/profile.h"
#include "runtime/stop.h"

int trainer_init(struct trainer *trainer, struct run *run) {
  TRY(objective_init(&trainer->objective, run));
  TRY(model_init(&trainer->model, run));
  trainer->arena = arena_measure(run->device);
  objective_plan(&trainer->objective, run, &trainer->arena);
  return OK;
}

void trainer_estimate(const struct trainer *trainer, const struct run *run, struct estimate *host,
                      struct estimate *device) {
  model_estimate(&trainer->model, run, host, device);
  estimate_add(device, "labels and splits on the device", trainer->arena.used);
}

int trainer_start(struct trainer *trainer, struct run *run) {
  int code = arena_allocate(&trainer->arena, "labels and splits");
  if (code == OK)
    code = memory_alloc(&trainer->epoch_ms, (run->config->train.epochs + 1) * (int64_t)sizeof(double),
                        "epoch times");
  TRY(comm_agree(run->comm, code));
  objective_plan(&trainer->objective, run, &trainer->arena);
  TRY(objective_start(&trainer->objective, run));
  TRY(model_start(&trainer->model, run));
  /* Only now do the layers know which running statistics they keep. */
  return comm_agree(run->comm, state_init(&trainer->state, &trainer->model, run));
}

void trainer_free(struct trainer *trainer, struct run *run) {
  metrics_close(&trainer->metrics);
  state_free(&trainer->state);
  arena_free(&trainer->arena);
  free(trainer->epoch_ms);
  model_free(&trainer->model, run);
  *trainer = (struct trainer){0};
}

static int newest_checkpoint(struct run *run, char *path, int64_t size) {
  char folder[RUNDIR_PATH];
  path[0] = '\0';
  int code = run->comm->rank == 0 ? checkpoint_newest(rundir_checkpoints(run, folder), path, size) : OK;
  TRY(comm_agree(run->comm, code));
  return comm_broadcast(run->comm, path, size, 0);
}

/* Run r uses seed + r and, when the dataset has k numbered splits, split (dataset.split + r) mod k. */
static int select_run(struct trainer *trainer, struct run *run, int64_t index) {
  int64_t splits = run->dataset->splits;
  run->index = index;
  if (run->config->train.runs > 1 && splits > 1) {
    int64_t split = (run->config->dataset.split + index) % splits;
    TRY(shard_read_split(run->comm, run->dataset, run->partition, split, run->shard));
    TRY(objective_start(&trainer->objective, run));
  }
  return model_reset(&trainer->model, run);
}

int trainer_resume(struct trainer *trainer, struct run *run, const char *path) {
  char newest[RUNDIR_PATH + 64];
  if (path[0] == '\0') {
    TRY(newest_checkpoint(run, newest, sizeof newest));
    if (newest[0] == '\0') {
      log_info("no checkpoint in %s: starting at epoch 0", run->config->log.dir);
      return OK;
    }
    path = newest;
  }
  struct state *state = &trainer->state;
  TRY(state_read(state, &trainer->model, run, path));
  TRY(select_run(trainer, run, state->run));
  TRY(state_restore(state, &trainer->model, run));
  trainer->resumed = 1;
  log_info("resuming run %lld after epoch %lld from %s", (long long)state->run, (long long)state->epoch,
           path);
  return OK;
}

/* What the ranks tell each other after an epoch, in one reduction. */
struct sums {
  double loss, stop;
  struct tally tally;
};

static int fail_nonfinite(struct trainer *trainer, struct run *run, int64_t epoch) {
  int layer = -1;
  TRY(model_find_nonfinite(&trainer->model, run, &layer));
  int64_t first = layer < 0 ? INT32_MAX : layer;
  TRY(comm_reduce(run->comm, &first, 1, NUMBER_INT64, REDUCE_MIN));
  char where[64] = "in the loss";
  if (first != INT32_MAX)
    snprintf(where, sizeof where, "first in the output of layer %lld", (long long)first);
  FAIL(FAILED,
       "epoch %lld: the loss is not finite (NaN or infinity %s); try a smaller train.lr or train.clip = 1",
       (long long)epoch, where);
}

static int save(struct trainer *trainer, struct run *run) {
  struct state *state = &trainer->state;
  char folder[RUNDIR_PATH], path[RUNDIR_PATH + 64];
  TRY(state_capture(state, &trainer->model, run));
  checkpoint_path(path, sizeof path, rundir_checkpoints(run, folder), state->run, state->epoch);
  TRY(PROFILE_HOST("checkpoint", state_write(state, &trainer->model, run, path, 0)));
  int code = run->comm->rank == 0 ? checkpoint_prune(folder, state->run, run->config->checkpoint.keep) : OK;
  return comm_agree(run->comm, code);
}

/* The row of metrics.jsonl and of the log for an epoch, from sums over ranks. */
static struct metrics_row row_of(const struct sums *sums, const struct run *run, int64_t epoch, double ms,
                                 int evaluated) {
  struct metrics_row row = {run->index, epoch, sums->loss, NAN, NAN, NAN, ms};
  if (evaluated) {
    row.train = tally_metric(&sums->tally, SPLIT_TRAIN);
    row.val = tally_metric(&sums->tally, SPLIT_VAL);
    row.test = tally_metric(&sums->tally, SPLIT_TEST);
  }
  return row;
}

static int record(struct trainer *trainer, struct run *run, const struct sums *sums,
                  const struct metrics_row *row, int evaluated) {
  int finite = isfinite(sums->loss) &&
               (!evaluated || isfinite(sums->tally.loss[SPLIT_VAL] + sums->tally.loss[SPLIT_TRAIN]));
  if (!finite) return comm_agree(run->comm, fail_nonfinite(trainer, run, row->epoch));
  if (evaluated)
    TRY(state_offer(&trainer->state, &trainer->model, run, row->val, sums->tally.loss[SPLIT_VAL], row->test));
  int code = run->comm->rank == 0 ? metrics_epoch(&trainer->metrics, row) : OK;
  report_epoch(trainer, run, row);
  return code;
}

/* One epoch, its evaluation when it is due, and what follows from it. *stop: a signal came on some rank. */
static int train_epoch(struct trainer *trainer, struct run *run, int64_t epoch, int *stop) {
  const struct config *config = run->config;
  int evaluate = epoch % config->train.eval_every == 0 || epoch == config->train.epochs;
  struct sums sums = {0};
  double begun = profile_clock();
  TRY(PROFILE("epoch", epoch_train(trainer, run, epoch, &sums.loss)));
  double ms = 1e3 * (profile_clock() - begun);
  trainer->state.epoch = epoch;
  trainer->epoch_ms[epoch - 1] = ms;
  if (evaluate) TRY(PROFILE("evaluation", epoch_evaluate(trainer, run, &sums.tally)));
  sums.stop = stop_requested() != 0;
  TRY(comm_reduce(run->comm, &sums, (int64_t)(sizeof sums / sizeof(double)), NUMBER_DOUBLE, REDUCE_SUM));
  trainer->seconds += profile_clock() - begun;
  trainer->epochs_run++;
  struct metrics_row row = row_of(&sums, run, epoch, ms, evaluate);
  TRY(record(trainer, run, &sums, &row, evaluate));
  *stop = sums.stop > 0;
  return OK;
}

static int save_and_stop(struct trainer *trainer, struct run *run) {
  TRY(save(trainer, run));
  FAIL(STOPPED, "stopped by a signal after epoch %lld; the checkpoint is in %s: go on with --resume",
       (long long)trainer->state.epoch, run->config->log.dir);
}

static int out_of_patience(const struct trainer *trainer, const struct run *run) {
  int64_t patience = run->config->train.patience;
  const struct state *state = &trainer->state;
  return patience > 0 && state->best.epoch > 0 && state->epoch - state->best.epoch >= patience;
}

static int train_run(struct trainer *trainer, struct run *run) {
  int64_t every = run->config->checkpoint.every;
  for (int64_t epoch = trainer->state.epoch + 1; epoch <= run->config->train.epochs; epoch++) {
    int stop = 0;
    if (out_of_patience(trainer, run)) break;
    TRY(train_epoch(trainer, run, epoch, &stop));
    if (stop) return comm_agree(run->comm, save_and_stop(trainer, run));
    if (every > 0 && epoch % every == 0 && epoch < run->config->train.epochs) TRY(save(trainer, run));
  }
  if (out_of_patience(trainer, run))
    log_info("no better validation for %lld epochs: stopping early", (long long)run->config->train.patience);
  return OK;
}

static int write_final(struct trainer *trainer, struct run *run) {
  const struct best *best = &trainer->state.best;
  int64_t peak = run->device->ops->memory_peak(run->device);
  TRY(comm_max_int64(run->comm, &peak));
  if (run->comm->rank != 0) return OK;
  struct metrics_final row = {.run = run->index,
                              .best_epoch = best->epoch,
                              .epochs = trainer->state.epoch,
                              .val = best->val,
                              .test = best->test,
                              .seconds = trainer->seconds,
                              .peak_bytes = peak};
  return metrics_final(&trainer->metrics, &row);
}

/* best.h5 holds the best of all runs so far, by validation. */
static int is_best_run(const struct state *state) {
  for (int64_t r = 0; r < state->run; r++) {
    if (state->run_val[r] >= state->best.val) return 0;
  }
  return 1;
}

static int finish_run(struct trainer *trainer, struct run *run) {
  struct state *state = &trainer->state;
  char path[RUNDIR_PATH];
  TRY(save(trainer, run));
  if (is_best_run(state)) TRY(state_write(state, &trainer->model, run, rundir_best(run, path), 1));
  TRY(write_final(trainer, run));
  report_run(trainer, run);
  state->run_val[state->run] = state->best.val;
  state->run_test[state->run] = state->best.test;
  return OK;
}

static int open_metrics(struct trainer *trainer, struct run *run) {
  int code = OK;
  int64_t epoch = trainer->resumed ? trainer->state.epoch : -1;
  if (run->comm->rank == 0)
    code = metrics_open(&trainer->metrics, run->config->log.dir, trainer->state.run, epoch);
  return comm_agree(run->comm, code);
}

int trainer_run(struct trainer *trainer, struct run *run) {
  TRY(open_metrics(trainer, run));
  for (int64_t r = trainer->resumed ? trainer->state.run : 0; r < run->config->train.runs; r++) {
    if (!trainer->resumed) {
      state_begin_run(&trainer->state, r);
      TRY(select_run(trainer, run, r));
    }
    trainer->resumed = 0;
    TRY(train_run(trainer, run));
    TRY(finish_run(trainer, run));
  }
  return OK;
}

static void print_split(const struct tally *tally, enum split split) {
  char text[16];
  log_info("  %-10s %s  loss %.4f", split_name[split], report_percent(tally_metric(tally, split), text),
           tally->loss[split]);
}

int trainer_evaluate(struct trainer *trainer, struct run *run, const char *checkpoint) {
  struct tally tally = {0};
  TRY(trainer_resume(trainer, run, checkpoint));
  TRY(epoch_evaluate(trainer, run, &tally));
  TRY(tally_reduce(&tally, run->comm));
  log_info("%s on %s", checkpoint, run->config->dataset.path);
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) print_split(&tally, s);
  return OK;
}
