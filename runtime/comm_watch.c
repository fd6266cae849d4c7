#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/comm_mpi.h"
#include "runtime/error.h"
#include "runtime/launcher.h"
#include "runtime/profile.h"
#include "runtime/stop.h"

static const double yield_seconds = 10e-3; /* giving way is cheap, and free while nobody wants the core */
static const double look_seconds = 1e-3;   /* how often signs are answered */
static const double arrive_seconds = 0.5;  /* from a rank's failure to leaving a wait */
static const double early_seconds = 5;     /* a wait as long as this is no part of a steady epoch */
static const double ended_seconds = 5;     /* from another rank's end of the job to one's own */
enum { SLEEP_MICROSECONDS = 50 };

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

/* What a collective call that is left may still write to. */
static void abandon_scratch(struct comm_mpi *mpi) {
  free(mpi->abandoned);
  mpi->abandoned = mpi->scratch;
  mpi->scratch = NULL;
  mpi->scratch_bytes = 0;
}

/* A rank that fails inside a stage goes to the agreement at its end; nobody may wait for it elsewhere. What
 * the others have sent to each other gets a moment to arrive. */
static int check_failed(struct comm_watch *watch, double now) {
  struct comm_mpi *mpi = watch->comm->mpi;
  if (watch->call == CALL_AGREE || watch->call == CALL_CLOSE) return OK;
  if (mpi->failed_rank < 0 || mpi->failed.number != mpi->agreements) return OK;
  if (watch->noticed == 0) watch->noticed = now;
  if (now - watch->noticed < arrive_seconds) return OK;
  abandon_scratch(mpi);
  int code = error_raise(mpi->failed.call, __FILE__, __LINE__, __func__, "rank %d failed", mpi->failed_rank);
  error_silence(code);
  return comm_agree(watch->comm, code);
}

static void call_roll(struct comm *comm) {
  if (comm_rollcall_start(comm) == OK) return;
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
    call_roll(watch->comm);
    watch->early = ASKED;
  } else if (watch->early == ASKED && waited > early_seconds + arrive_seconds &&
             stop_requested() == SIGTERM) {
    comm_rollcall_name(watch->comm, waited);
    watch->early = TOLD;
  }
}

static void check_deadline(struct comm_watch *watch, double now) {
  struct comm *comm = watch->comm;
  double since = comm->mpi->sign_of_life > watch->start ? comm->mpi->sign_of_life : watch->start;
  if (now - since <= comm->timeout) {
    watch->called = 0;
    ask_early(watch, now - since);
  } else if (watch->called == 0) {
    watch->called = now;
    call_roll(comm);
  } else {
    comm_rollcall_conclude(watch, now - watch->called);
  }
}

/* The launcher has this long to end a rank that knows the job to be over. */
static void follow_end(struct comm *comm, double now) {
  static int followed;
  if (!followed++) launcher_end_later();
  if (now - comm->mpi->ending > ended_seconds) comm_abort(comm, FAILED);
}

int comm_watch_poll(struct comm_watch *watch) {
  double now = profile_clock(), waited = now - watch->start;
  if (now >= watch->next_look) {
    watch->next_look = now + look_seconds;
    TRY(comm_signs_look(watch->comm));
    if (watch->comm->mpi->ending > 0) {
      follow_end(watch->comm, now);
    } else {
      TRY(check_failed(watch, now));
      check_deadline(watch, now);
    }
  }
  if (waited < yield_seconds)
    sched_yield();
  else
    usleep(SLEEP_MICROSECONDS);
  return OK;
}

static int poll_request(struct comm_watch *watch, MPI_Request *request) {
  for (int done = 0;;) {
    int code = comm_mpi_check(MPI_Test(request, &done, MPI_STATUS_IGNORE), comm_call_name(watch->call));
    if (code != OK) abandon_scratch(watch->comm->mpi);
    TRY(code);
    if (done) return OK;
    TRY(comm_watch_poll(watch));
  }
}

int comm_watch_request(struct comm *comm, MPI_Request *request, enum comm_call call) {
  struct comm_watch watch;
  comm_watch_start(&watch, comm, call, NULL);
  int code = poll_request(&watch, request);
  comm_watch_finish(&watch);
  return code;
}

static int poll_steps(struct comm_watch *watch, int (*steps)(void *context), void *context, int last) {
  int before = steps(context);
  for (int now = before; now < last; now = steps(context)) {
    if (now != before) watch->start = profile_clock();
    before = now;
    TRY(comm_watch_poll(watch));
  }
  return OK;
}

int comm_await(struct comm *comm, int (*steps)(void *context), void *context, int last) {
  struct comm_watch watch;
  comm_watch_start(&watch, comm, CALL_START, NULL);
  int code = poll_steps(&watch, steps, context, last);
  comm_watch_finish(&watch);
  return code;
}
