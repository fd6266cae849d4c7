#include "partition/graph/progress.h"

#include <errno.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/worker.h"
#include "runtime/profile/profile.h"

struct watch watch_of(struct comm *comm) {
  double now = profile_clock();
  return (struct watch){comm, now, now, NULL};
}

/* Tells the other ranks to be patient, and every few seconds people. */
static void keep_patient(struct watch *watch) {
  double now = profile_clock();
  if (now - watch->spoke >= (log_is_terminal() ? 1 : 5)) {
    log_progress("%s: %.0f s", watch->doing, now - watch->began);
    watch->spoke = now;
  }
  if (comm_alive(watch->comm) != OK) {
    error_print(stderr, program_invocation_short_name);
    comm_abort(watch->comm, FAILED);
  }
}

static void wait_for(struct watch *watch, struct aside *aside) {
  while (!aside_wait(aside, 1)) keep_patient(watch);
}

int watch_work(struct watch *watch, const char *doing, int (*call)(void *context), void *context) {
  struct aside aside;
  const char *whole = watch->doing;
  int code = OK;
  watch->doing = doing;
  if (whole)
    code = call(context);
  else if ((code = aside_start(&aside, call, context)) == OK)
    wait_for(watch, &aside);
  watch->doing = whole;
  if (!whole && code == OK) code = aside_finish(&aside);
  return code;
}
