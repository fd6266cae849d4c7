/* Waits, and agreements on how a stage ended. Who waits answers other ranks' heartbeats; a deadline ends the
 * job, and another rank's failure the wait, but for agreements and the end of MPI, to which all ranks come
 * whatever fails. */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/stop.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/comm/launcher.h"
#include "runtime/profile/profile.h"

static const double look_seconds = 1e-3; /* how often heartbeats are answered */
static const double early_seconds = 5;   /* a wait as long as this is no part of a steady epoch */
static const double answer_seconds =
    0.5; /* until then a rank that lives has answered the early liveness check */
static const double ended_seconds = 5;    /* from another rank's end of the job to one's own */
static const double arrive_seconds = 0.5; /* from a rank's failure to leaving a wait */

/* A wait gives way at first, which costs nothing while nobody else wants the core. Where others compute on
 * it, each time costs a slice of theirs, 3 ms on Linux 6.18: then this wait and those that follow soon sleep.
 */
static const double yield_seconds = 10e-3, slice_seconds = 2e-3, crowded_seconds = .05;
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

static int look(struct comm_watch *watch, double now) {
  const int lasts = watch->call == CALL_AGREE || watch->call == CALL_CLOSE;
  TRY(comm_heartbeats_look(watch->comm));
  if (watch->comm->mpi->ending == 0 && !lasts) TRY(check_failed(watch, now));
  if (watch->comm->mpi->ending > 0)
    follow_end(watch->comm, now);
  else
    check_deadline(watch, now);
  return OK;
}

static void rest(const struct comm_watch *watch, double now) {
  static double crowded_until;
  if (now - watch->start > yield_seconds || now < crowded_until) {
    usleep(SLEEP_MICROSECONDS);
    return;
  }
  sched_yield();
  const double then = profile_clock();
  if (then - now > slice_seconds) crowded_until = then + crowded_seconds;
}

int comm_watch_poll(struct comm_watch *watch) {
  double now = profile_clock();
  if (now >= watch->next_look) {
    watch->next_look = now + look_seconds;
    TRY(look(watch, now));
  }
  rest(watch, now);
  return OK;
}

static int poll_request(struct comm_watch *watch, MPI_Request *request) {
  for (int done = 0;;) {
    int code = comm_mpi_check(MPI_Test(request, &done, MPI_STATUS_IGNORE), comm_call_name(watch->call));
    if (code != OK) comm_mpi_abandon(watch->comm->mpi);
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

struct verdict {
  int code, speaks;
};

/* The new communicators cannot meet a message of the old ones, whose sends may never be received. */
static int renew(struct comm *comm, MPI_Comm *communicator) {
  MPI_Request request;
  TRY_MPI(MPI_Comm_idup(comm->mpi->agree, communicator, &request));
  TRY(comm_watch_request(comm, &request, CALL_AGREE));
  TRY_MPI(MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN));
  return OK;
}

/* Cancels what has not come and waits for what is just coming: then the buffers are the caller's again. */
static int cancel(struct comm *comm, struct comm_requests *requests) {
  int count = requests->count;
  requests->count = 0;
  for (int i = 0; i < count; i++) {
    MPI_Request *request = &requests->request[i];
    if (*request == MPI_REQUEST_NULL) continue;
    if (requests->piece[i].receives) {
      TRY_MPI(MPI_Cancel(request));
      TRY(comm_watch_request(comm, request, CALL_AGREE));
    } else {
      TRY_MPI(MPI_Request_free(request));
    }
  }
  return OK;
}

/* After a failure nothing may be under way on any rank: the buffers belong to callers that will free them. */
static int end_messages(struct comm *comm) {
  MPI_Request request;
  for (int i = 0; i < 2; i++) TRY(cancel(comm, &comm->mpi->requests[i]));
  TRY_MPI(MPI_Ibarrier(comm->mpi->agree, &request));
  TRY(comm_watch_request(comm, &request, CALL_AGREE));
  TRY(renew(comm, &comm->mpi->setup));
  return renew(comm, &comm->mpi->exchange);
}

static int conclude(struct comm *comm, const struct verdict *all) {
  int highest = OK, speaker = -1;
  for (int r = 0; r < comm->size; r++) {
    if (all[r].code > highest) highest = all[r].code;
    if (speaker < 0 && all[r].speaks) speaker = r;
  }
  comm->mpi->agreements++;
  if (highest == OK) return OK;
  TRY(end_messages(comm));
  if (speaker != comm->rank) error_silence(highest);
  error_mark_agreed();
  return highest;
}

/* A failure must be heard: the sign of an earlier one leaves first. */
static int tell_failure(struct comm *comm, int code) {
  struct heartbeat failed = {.kind = HEARTBEAT_FAILED, .number = comm->mpi->agreements, .call = code};
  for (int r = 0; r < comm->size; r++) {
    if (r == comm->rank) continue;
    TRY(comm_watch_request(comm, &comm->mpi->peers[r].sending[HEARTBEAT_FAILED], CALL_AGREE));
    TRY(comm_heartbeats_send(comm, r, failed));
  }
  return OK;
}

int comm_agree(struct comm *comm, int code) {
  if (comm_is_alone(comm) || (code != OK && error_is_agreed())) return code;
  struct verdict mine = {code, code != OK && !error_is_silent()};
  char *all = NULL;
  MPI_Request request;
  if (mine.speaks) TRY(tell_failure(comm, code));
  TRY(comm_gather_post(comm, comm->mpi->agree, &mine, sizeof mine, &all, &request));
  TRY(comm_watch_request(comm, &request, CALL_AGREE));
  return conclude(comm, (const struct verdict *)all);
}
