#include "partition/graph/progress.h"

#include "runtime/base/base.h"
#include "runtime/base/worker.h"
#include "runtime/profile/profile.h"

struct progress progress_of(struct comm *comm) {
  double now = profile_clock();
  return (struct progress){comm, now, now, NULL};
}

/* Seconds between two lines for people; a log gets one whenever twice the time has passed. */
static double pause_of(const struct progress *progress) {
  const double passed = progress->spoke - progress->began;
  return log_is_terminal() ? 1 : passed > 5 ? passed : 5;
}

void progress_say(struct progress *progress, const char *doing) {
  double now = profile_clock();
  if (now - progress->spoke < pause_of(progress)) return;
  log_progress("%s: %.0f s", doing, now - progress->began);
  progress->spoke = now;
}

/* Tells the other ranks to be patient, and now and then people. */
static void keep_patient(struct progress *progress) {
  progress_say(progress, progress->doing);
  if (comm_alive(progress->comm) != OK) {
    error_print(stderr, program_invocation_short_name);
    comm_abort(progress->comm, FAILED);
  }
}

static void wait_for(struct progress *progress, struct worker *worker) {
  while (!worker_wait(worker, 1)) keep_patient(progress);
}

int progress_work(struct progress *progress, const char *doing, int (*call)(void *context), void *context) {
  struct worker worker;
  const char *whole = progress->doing;
  int code = OK;
  progress->doing = doing;
  if (whole)
    code = call(context);
  else if ((code = worker_start(&worker, call, context)) == OK)
    wait_for(progress, &worker);
  progress->doing = whole;
  if (!whole && code == OK) code = worker_finish(&worker);
  return code;
}
