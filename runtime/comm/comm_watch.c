/* Waits: other ranks' heartbeats are answered, and a deadline ends the job. */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/stop.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/comm/launcher.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile.h"

static const double look_seconds = 1e-3; /* how often heartbeats are answered */
static const double early_seconds = 5;   /* a wait as long as this is no part of a steady epoch */
static const double answer_seconds =
    0.5; /* until then a rank that lives has answered the early liveness check */
static const double ended_seconds = 5;     /* from another rank's end of the job to one's own */
static const double sleep_share = 1 / 16.; /* of what has been waited; so much later is the end noticed */

/* How long a rank gives way, which is cheap, and free while nobody wants the core, before it sleeps; and how
 * long at once. One with a GPU waits for that, a whole epoch long, and has a core of its own. */
static const struct rest { double yield, longest_sleep; } with_gpu = {10e-3, 50e-6}, on_host = {1e-3, 500e-6};

void comm_watch_start(struct comm_watch *watch, struct comm *comm, enum comm_call call,
                      const struct comm_requests *requests) {
  double now = profile_clock();
  *watch = (struct comm_watch){
      .comm = comm, .call = call, .requests = requests, .start = now, .next_look = now + look_seconds};
  comm->mpi->watch = watch;
}

void comm_watch_finish(struct comm_watch *watch) {
  watch->comm->mpi->watch = NULL;
}

static void check_liveness(struct comm *comm) {
  if (comm_liveness_start(comm) == OK) return;
  error_print(stderr, "gnntrain");
  comm_abort(comm, FAILED);
}

/* A launcher that notices a lost host ahead of the deadline ends the ranks, and leaves them no time to ask.
 * The first rank has asked by then, and says who is missing. */
static void ask_early(struct comm_watch *watch, double waited) {
  if (watch->comm->rank != 0) return;
  if (waited < early_seconds) {
    watch->early = NOT_ASKED;
  } else if (watch->early == NOT_ASKED) {
    check_liveness(watch->comm);
    watch->early = ASKED;
  } else if (watch->early == ASKED && waited > early_seconds + answer_seconds &&
             stop_requested() == SIGTERM) {
    comm_liveness_name(watch->comm, waited);
    watch->early = TOLD;
  }
}

static void check_deadline(struct comm_watch *watch, double now) {
  struct comm *comm = watch->comm;
  double since = comm->mpi->last_heartbeat > watch->start ? comm->mpi->last_heartbeat : watch->start;
  if (now - since <= comm->timeout) {
    watch->called = 0;
    ask_early(watch, now - since);
  } else if (watch->called == 0) {
    watch->called = now;
    check_liveness(comm);
  } else {
    comm_liveness_conclude(watch, now - watch->called);
  }
}

/* The launcher has this long to end a rank that knows the job to be over. */
static void follow_end(struct comm *comm, double now) {
  static int followed;
  if (!followed++) launcher_end_later();
  if (now - comm->mpi->ending > ended_seconds) comm_abort(comm, FAILED);
}

int comm_watch_is_due(struct comm_watch *watch, double now) {
  if (now < watch->next_look) return 0;
  watch->next_look = now + look_seconds;
  return 1;
}

void comm_watch_check(struct comm_watch *watch, double now) {
  if (watch->comm->mpi->ending > 0)
    follow_end(watch->comm, now);
  else
    check_deadline(watch, now);
}

/* Who sleeps leaves the core to the rank that is waited for, where there are fewer cores than ranks or others
 * want them. */
void comm_watch_rest(const struct comm_watch *watch, double now) {
  const struct device *device = watch->comm->device;
  int has_gpu = device && device->ops && !device->ops->on_host; /* closed before the last waits */
  const struct rest *rest = has_gpu ? &with_gpu : &on_host;
  double waited = now - watch->start, sleep = sleep_share * waited;
  if (waited < rest->yield)
    sched_yield();
  else
    usleep((useconds_t)(1e6 * (sleep < rest->longest_sleep ? sleep : rest->longest_sleep)));
}

int comm_watch_test(struct comm_watch *watch, MPI_Request *request, int *done) {
  int code = comm_mpi_check(MPI_Test(request, done, MPI_STATUS_IGNORE), comm_call_name(watch->call));
  if (code != OK) comm_mpi_abandon(watch->comm->mpi);
  return code;
}

static int settle(struct comm_watch *watch, MPI_Request *request) {
  for (int done = 0;;) {
    TRY(comm_watch_test(watch, request, &done));
    if (done) return OK;
    double now = profile_clock();
    if (comm_watch_is_due(watch, now)) {
      TRY(comm_heartbeats_look(watch->comm));
      comm_watch_check(watch, now);
    }
    comm_watch_rest(watch, now);
  }
}

int comm_watch_settle(struct comm *comm, MPI_Request *request, enum comm_call call) {
  struct comm_watch watch;
  comm_watch_start(&watch, comm, call, NULL);
  int code = settle(&watch, request);
  comm_watch_finish(&watch);
  return code;
}
