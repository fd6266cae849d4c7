/* Waits inside a stage, which another rank's failure ends. */
#include "runtime/base/error.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/profile/profile.h"

static const double arrive_seconds = 0.5; /* from a rank's failure to leaving a wait */

/* A rank that fails inside a stage goes to the agreement at its end; nobody may wait for it elsewhere. What
 * the others have sent to each other gets a moment to arrive. */
static int check_failed(struct comm_watch *watch, double now) {
  struct comm_mpi *mpi = watch->comm->mpi;
  if (mpi->failed_rank < 0 || mpi->failed.number != mpi->agreements) return OK;
  if (watch->noticed == 0) watch->noticed = now;
  if (now - watch->noticed < arrive_seconds) return OK;
  comm_mpi_abandon(mpi);
  int code = error_raise(mpi->failed.call, __FILE__, __LINE__, __func__, "rank %d failed", mpi->failed_rank);
  error_silence(code);
  return comm_agree(watch->comm, code);
}

int comm_watch_poll(struct comm_watch *watch) {
  double now = profile_clock();
  if (comm_watch_is_due(watch, now)) {
    TRY(comm_heartbeats_look(watch->comm));
    if (watch->comm->mpi->ending == 0) TRY(check_failed(watch, now));
    comm_watch_check(watch, now);
  }
  comm_watch_rest(watch, now);
  return OK;
}

static int poll_request(struct comm_watch *watch, MPI_Request *request) {
  for (int done = 0;;) {
    TRY(comm_watch_test(watch, request, &done));
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
