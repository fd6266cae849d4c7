#include "models/resume.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "models/rundir.h"
#include "runtime/error.h"
#include "runtime/log.h"

enum { PATH = RUNDIR_PATH + 64 };

int resume_find(struct run *run, char *path, int64_t size) {
  char folder[RUNDIR_PATH];
  path[0] = '\0';
  int code = run->comm->rank == 0 ? checkpoint_newest(rundir_checkpoints(run, folder), path, size) : OK;
  TRY(comm_agree(run->comm, code));
  return comm_broadcast(run->comm, path, size, 0);
}

/* Whether best.h5 can stay: it is of the state that is resumed or of one before. */
static int best_stands(const struct state *state, const char *best) {
  int64_t of_run = 0, epoch = 0;
  if (access(best, F_OK) != 0) return state->run == 0; /* the first run has written none yet */
  if (state_place(best, &of_run, &epoch) != OK) {
    error_clear(); /* of no use to anybody */
    return 0;
  }
  return of_run < state->run || (of_run == state->run && epoch <= state->epoch);
}

/* The run before this one whose best weights best.h5 had: the first with the best validation metric; without
 * validation nodes the last. */
static int64_t best_run_before(const struct state *state) {
  int64_t best = 0;
  for (int64_t r = 1; r < state->run; r++) {
    if (!(state->run_val[best] >= state->run_val[r])) best = r;
  }
  return best;
}

/* What the ranks must know: whether best.h5 is to be written again, and from which checkpoint. */
struct plan {
  int rewrite;
  char source[PATH];
};

static int remove_later(const struct state *state, const struct run *run, struct plan *plan) {
  char folder[RUNDIR_PATH], best[RUNDIR_PATH];
  int64_t removed;
  TRY(checkpoint_cut_back(rundir_checkpoints(run, folder), state->run, state->epoch, &removed));
  if (removed > 0)
    log_info("removed %lld later checkpoint%s in %s", (long long)removed, removed > 1 ? "s" : "", folder);
  if (best_stands(state, rundir_best(run, best))) return OK;
  if (state->run > 0) TRY(checkpoint_newest_of(folder, best_run_before(state), plan->source, PATH));
  plan->rewrite = plan->source[0] != '\0';
  if (plan->rewrite) return OK;
  if (unlink(best) != 0 && errno != ENOENT) FAIL(FAILED, "%s: cannot be removed: %s", best, strerror(errno));
  if (state->run > 0)
    log_info("note: %s: there is none until a better run ends, for the best run's checkpoint is gone", best);
  return OK;
}

static int rewrite_best(const struct state *state, const struct model *model, struct run *run,
                        const char *source) {
  struct state earlier = {0};
  char best[RUNDIR_PATH];
  int code = comm_agree(run->comm, state_init(&earlier, model, run));
  if (code == OK) code = state_read(&earlier, model, run, source, STATE_COPY);
  if (code == OK) {
    size_t bytes = (size_t)earlier.run * sizeof *state->run_val;
    memcpy(earlier.run_val, state->run_val, bytes);
    memcpy(earlier.run_test, state->run_test, bytes);
    code = state_write(&earlier, model, run, rundir_best(run, best), 1);
  }
  state_free(&earlier);
  return code;
}

int resume_cut_back(const struct state *state, const struct model *model, struct run *run) {
  struct plan plan = {0};
  TRY(comm_agree(run->comm, run->comm->rank == 0 ? remove_later(state, run, &plan) : OK));
  TRY(comm_broadcast(run->comm, &plan, sizeof plan, 0));
  return plan.rewrite ? rewrite_best(state, model, run, plan.source) : OK;
}
