#include "models/train/state/state.h"

#include <math.h>

#include "runtime/base/base.h"

int state_init(struct state *state, const struct model *model, const struct run *run) {
  const int64_t count = model->parameters.numbers, statistics = program_statistics(&model->program);
  *state = (struct state){.count = count, .statistics_count = statistics};
  TRY(memory_arrays("a host copy of the parameters", ROOM(&state->w, count), ROOM(&state->m, count),
                    ROOM(&state->v, count), ROOM(&state->best_w, count)));
  TRY(memory_arrays("batch statistics", ROOM(&state->statistics, statistics),
                    ROOM(&state->best_statistics, statistics)));
  return memory_arrays("results", ROOM(&state->run_val, run->config->train.runs),
                       ROOM(&state->run_test, run->config->train.runs));
}

void state_free(struct state *state) {
  free_all(state->w, state->m, state->v, state->statistics, state->best_w, state->best_statistics,
           state->run_val, state->run_test);
  *state = (struct state){0};
}

int state_capture(struct state *state, const struct model *model, struct run *run) {
  const struct parameters *p = &model->parameters;
  struct tensor running = run_reals(run, model->program.running, state->statistics_count);
  TRY(parameters_download(p, run, state->w, p->w));
  if (running.cols > 0) TRY(run_download(run, state->statistics, running));
  TRY(parameters_download(p, run, state->m, p->m));
  return parameters_download(p, run, state->v, p->v);
}

int state_capture_best(struct state *state, struct snapshots *snapshots, const struct model *model,
                       struct run *run) {
  if (snapshots->best < 0) return OK;
  const struct snapshot *best = &snapshots->all[snapshots->best];
  struct tensor running = run_reals(run, best->running, state->statistics_count);
  TRY(parameters_download(&model->parameters, run, state->best_w, best->weights));
  if (running.cols > 0) TRY(run_download(run, state->best_statistics, running));
  snapshots->best = -1;
  return OK;
}

int state_restore(const struct state *state, struct model *model, struct run *run) {
  struct parameters *p = &model->parameters;
  struct tensor running = run_reals(run, model->program.running, state->statistics_count);
  TRY(parameters_upload(p, run, p->w, state->w));
  TRY(parameters_upload(p, run, p->m, state->m));
  TRY(parameters_upload(p, run, p->v, state->v));
  return running.cols > 0 ? run_upload(run, running, state->statistics) : OK;
}

/* Without validation nodes (val is NaN) the latest evaluation is the best. */
static int improves(const struct best *best, double val, double loss) {
  if (best->epoch == 0 || isnan(val)) return 1;
  return val > best->val || (val == best->val && loss < best->loss);
}

int state_offer(struct state *state, double val, double loss, double test) {
  if (!improves(&state->best, val, loss)) return 0;
  state->best = (struct best){.epoch = state->epoch, .val = val, .loss = loss, .test = test};
  return 1;
}

int state_is_better(double val, double other) {
  return isnan(other) || val > other;
}

void state_begin_run(struct state *state, int64_t run) {
  state->run = run;
  state->epoch = state->step = 0;
  state->seconds = 0;
  state->best = (struct best){0, NAN, NAN, NAN};
}
