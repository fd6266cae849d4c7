#include "models/train/state/resume.h"

#include <unistd.h>

#include "io/dataset/checkpoint.h"
#include "models/train/state/rundir.h"
#include "runtime/base/base.h"

enum { PATH = RUNDIR_PATH + 64 };

/* Whether best.h5 can stay: it is of the state that is resumed or of one before. One that cannot be read just
 * now may well be. */
static int best_stands(const struct state *state, const char *best, int *stands) {
  int64_t of_run = 0, epoch = 0;
  *stands = state->run == 0; /* the first run has written none yet */
  if (access(best, F_OK) != 0) return OK;
  int code = state_place(best, &of_run, &epoch);
  *stands = code == OK && (of_run < state->run || (of_run == state->run && epoch <= state->epoch));
  if (code != BAD_INPUT) return code;
  log_info("note: %s is not kept: %s", best, error_message());
  error_clear();
  return OK;
}

/* The run before this one whose best weights best.h5 had. */
static int64_t best_run_before(const struct state *state) {
  int64_t best = 0;
  for (int64_t r = 1; r < state->run; r++) {
    if (state_is_better(state->run_val[r], state->run_val[best])) best = r;
  }
  return best;
}

/* What the ranks must know: under which name the state is to be kept, "": it is; whether best.h5 stands; else
 * the run it is to be of, and from which checkpoint, "": there is none. */
struct plan {
  char keep[PATH], source[PATH];
  int stands;
  int64_t best_run;
};

static int make_plan(const struct state *state, const struct run *run, struct plan *plan) {
  char folder[RUNDIR_PATH], best[RUNDIR_PATH];
  rundir_path(run->config, "checkpoints", folder);
  checkpoint_path(plan->keep, PATH, folder, state->run, state->epoch);
  if (access(plan->keep, F_OK) == 0) plan->keep[0] = '\0';
  TRY(best_stands(state, rundir_path(run->config, "best.h5", best), &plan->stands));
  plan->best_run = best_run_before(state);
  if (plan->stands || state->run == 0) return OK;
  return checkpoint_newest_of(folder, plan->best_run, plan->source, PATH);
}

/* Whether `earlier` is what that run of this training ended with. */
static int is_result(const struct state *earlier, const struct state *state, int64_t of_run) {
  return earlier->run == of_run && earlier->best.epoch > 0 &&
         memcmp(&earlier->best.val, &state->run_val[of_run], sizeof(double)) == 0 &&
         memcmp(&earlier->best.test, &state->run_test[of_run], sizeof(double)) == 0;
}

/* *done: best.h5 is that run's again. */
static int rewrite_best(const struct state *state, const struct model *model, struct run *run,
                        const struct plan *plan, int *done) {
  ENDED_BY(state_free) struct state earlier = {0};
  char best[RUNDIR_PATH];
  int code = comm_agree(run->comm, state_init(&earlier, model, run));
  if (code == OK) code = state_read(&earlier, model, run, plan->source, STATE_COPY);
  *done = code == OK && is_result(&earlier, state, plan->best_run);
  if (code == BAD_INPUT) error_clear(); /* of another model, or damaged: as good as none */
  if (!*done) return code == BAD_INPUT ? OK : code;
  size_t bytes = (size_t)earlier.run * sizeof *state->run_val;
  memcpy(earlier.run_val, state->run_val, bytes);
  memcpy(earlier.run_test, state->run_test, bytes);
  return state_write(&earlier, model, run, rundir_path(run->config, "best.h5", best), 1);
}

static int remove_best(const struct state *state, const struct run *run) {
  char best[RUNDIR_PATH];
  if (unlink(rundir_path(run->config, "best.h5", best)) != 0 && errno != ENOENT)
    FAIL(FAILED, "%s: cannot be removed: %s", best, strerror(errno));
  if (state->run > 0)
    log_info("note: %s: there is none until a better run ends, for the best run's checkpoint is gone", best);
  return OK;
}

static int remove_later(const struct state *state, const struct run *run) {
  char folder[RUNDIR_PATH];
  int64_t removed;
  TRY(checkpoint_cut_back(rundir_path(run->config, "checkpoints", folder), state->run, state->epoch,
                          &removed));
  if (removed > 0)
    log_info("removed %lld later checkpoint%s in %s", (long long)removed, removed > 1 ? "s" : "", folder);
  return OK;
}

int resume_cut_back(struct state *state, const struct model *model, struct run *run) {
  struct plan plan = {0};
  int speaker = run->comm->rank == 0, done;
  TRY(comm_agree(run->comm, speaker ? make_plan(state, run, &plan) : OK));
  TRY(comm_broadcast(run->comm, &plan, sizeof plan, 0));
  if (plan.keep[0]) TRY(state_write(state, model, run, plan.keep, 0));
  done = plan.stands;
  if (plan.source[0]) TRY(rewrite_best(state, model, run, &plan, &done));
  if (!done) TRY(comm_agree(run->comm, speaker ? remove_best(state, run) : OK));
  return comm_agree(run->comm, speaker ? remove_later(state, run) : OK);
}
