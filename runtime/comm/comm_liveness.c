/* Heartbeats between ranks, and the liveness check: who does not answer when a deadline has passed? */
#include "runtime/base/base.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/comm/launcher.h"
#include "runtime/profile/profile.h"

enum { HEARTBEAT_INTS = sizeof(struct heartbeat) / sizeof(int), HEARTBEAT_TAG = 1, NAMED = 4 };

static const double answer_seconds = 3;  /* how long a living rank may take to answer */
static const double recover_seconds = 2; /* when all answered: what they wait for may be just arriving */
static const double first_seconds = 2;   /* the lowest living rank speaks; the next does so this much later */
static const double step_seconds = 0.5;  /* and each after it a little later still */
static const double latest_seconds = 4;

static const char *const call_name[] = {
    [CALL_NONE] = "a computation",
    [CALL_EXCHANGE] = "the halo exchange",
    [CALL_ALLREDUCE] = "an allreduce",
    [CALL_BARRIER] = "a barrier",
    [CALL_BROADCAST] = "a broadcast",
    [CALL_GATHER] = "a gather",
    [CALL_SWAP] = "a swap",
    [CALL_ALL_TO_ALL] = "an all-to-all",
    [CALL_AGREE] = "an agreement",
    [CALL_START] = "the start of its device and transport",
    [CALL_CLOSE] = "the end",
};

const char *comm_call_name(enum comm_call call) {
  return call_name[call];
}

static int listen(struct comm_mpi *mpi) {
  TRY_MPI(MPI_Irecv(&mpi->heartbeat_in, HEARTBEAT_INTS, MPI_INT, MPI_ANY_SOURCE, HEARTBEAT_TAG,
                    mpi->heartbeats, &mpi->heartbeat_request));
  return OK;
}

int comm_heartbeats_open(struct comm *comm) {
  return listen(comm->mpi);
}

void comm_heartbeats_close(struct comm *comm) {
  struct comm_mpi *mpi = comm->mpi;
  if (mpi->heartbeat_request != MPI_REQUEST_NULL) {
    MPI_Cancel(&mpi->heartbeat_request);
    MPI_Request_free(&mpi->heartbeat_request);
  }
  for (int r = 0; mpi->peers && r < comm->size; r++)
    for (int kind = 0; kind < HEARTBEAT_KINDS; kind++)
      if (mpi->peers[r].sending[kind] != MPI_REQUEST_NULL) MPI_Request_free(&mpi->peers[r].sending[kind]);
}

/* A heartbeat whose predecessor has not left yet is dropped: that peer does not listen. */
int comm_heartbeats_send(struct comm *comm, int peer, struct heartbeat heartbeat) {
  struct comm_peer *to = &comm->mpi->peers[peer];
  int gone = 0;
  TRY_MPI(MPI_Test(&to->sending[heartbeat.kind], &gone, MPI_STATUS_IGNORE));
  if (!gone) return OK;
  to->out[heartbeat.kind] = heartbeat;
  TRY_MPI(MPI_Isend(&to->out[heartbeat.kind], HEARTBEAT_INTS, MPI_INT, peer, HEARTBEAT_TAG,
                    comm->mpi->heartbeats, &to->sending[heartbeat.kind]));
  return OK;
}

int comm_heartbeats_send_all(struct comm *comm, struct heartbeat heartbeat) {
  for (int r = 0; r < comm->size; r++)
    if (r != comm->rank) TRY(comm_heartbeats_send(comm, r, heartbeat));
  return OK;
}

static int answer(struct comm *comm, int peer, int number) {
  const struct comm_watch *watch = comm->mpi->watch;
  struct heartbeat here = {.kind = HEARTBEAT_HERE, .number = number, .call = CALL_NONE, .peer = -1};
  if (watch) {
    here.call = (int)watch->call;
    here.peer = comm_requests_peer(watch->requests);
  }
  return comm_heartbeats_send(comm, peer, here);
}

/* Heartbeats of different ranks overtake each other: an older failure must not hide a newer one. */
static void note_failure(struct comm_mpi *mpi, int from, struct heartbeat heartbeat) {
  if (mpi->failed_rank >= 0 && heartbeat.number <= mpi->failed.number) return;
  mpi->failed = heartbeat;
  mpi->failed_rank = from;
}

static int heed(struct comm *comm, int from, struct heartbeat heartbeat) {
  struct comm_mpi *mpi = comm->mpi;
  switch ((enum heartbeat_kind)heartbeat.kind) {
  case HEARTBEAT_CALL:
    return answer(comm, from, heartbeat.number);
  case HEARTBEAT_HERE:
    mpi->peers[from].answer = heartbeat;
    mpi->peers[from].answered = profile_clock();
    break;
  case HEARTBEAT_ALIVE:
    mpi->last_heartbeat = profile_clock();
    break;
  case HEARTBEAT_FAILED:
    note_failure(mpi, from, heartbeat);
    break;
  case HEARTBEAT_ENDING:
    if (mpi->ending == 0) mpi->ending = profile_clock();
    break;
  case HEARTBEAT_KINDS:
    break;
  }
  return OK;
}

int comm_heartbeats_look(struct comm *comm) {
  struct comm_mpi *mpi = comm->mpi;
  for (;;) {
    int came = 0;
    MPI_Status status;
    if (mpi->heartbeat_request == MPI_REQUEST_NULL) return OK;
    TRY_MPI(MPI_Test(&mpi->heartbeat_request, &came, &status));
    if (!came) return OK;
    struct heartbeat heartbeat = mpi->heartbeat_in;
    TRY(listen(mpi));
    TRY(heed(comm, status.MPI_SOURCE, heartbeat));
  }
}

int comm_alive(struct comm *comm) {
  if (comm_is_alone(comm)) return OK;
  TRY(comm_heartbeats_send_all(comm, (struct heartbeat){.kind = HEARTBEAT_ALIVE}));
  return comm_heartbeats_look(comm);
}

int comm_liveness_start(struct comm *comm) {
  comm->mpi->called = profile_clock();
  return comm_heartbeats_send_all(
      comm, (struct heartbeat){.kind = HEARTBEAT_CALL, .number = ++comm->mpi->liveness_checks});
}

static void name_wait(int rank, int call, int peer, FILE *out) {
  if (call == CALL_NONE)
    fprintf(out, "rank %d computes", rank);
  else if (peer < 0)
    fprintf(out, "rank %d waits in %s", rank, call_name[call]);
  else
    fprintf(out, "rank %d waits for rank %d in %s", rank, peer, call_name[call]);
}

static void name_waits(const struct comm_watch *watch, FILE *out) {
  const struct comm *comm = watch->comm;
  for (int r = 0; r < comm->size && r < NAMED; r++) {
    const struct heartbeat *answer = &comm->mpi->peers[r].answer;
    if (r > 0) fprintf(out, ", ");
    if (r == comm->rank)
      name_wait(r, (int)watch->call, comm_requests_peer(watch->requests), out);
    else
      name_wait(r, answer->call, answer->peer, out);
  }
}

/* The others are told, so that they do not say it too; where that fails they do. */
static _Noreturn void speak(const struct comm_watch *watch, int missing) {
  char text[2048];
  struct comm *comm = watch->comm;
  FILE *out = fmemopen(text, sizeof text, "w");
  comm_abort_start(FAILED);
  (void)comm_heartbeats_send_all(comm, (struct heartbeat){.kind = HEARTBEAT_ENDING});
  if (out) {
    fprintf(out, "gnntrain: ");
    if (missing > 0)
      comm_missing_name(comm, out);
    else
      name_waits(watch, out);
    fprintf(out, " for %g s (runtime.timeout): ending the job%s\n", comm->timeout,
            missing > 0 ? "" : "; if that is what the work takes, set runtime.timeout higher");
    fclose(out);
    fputs(text, stderr);
  }
  if (missing > 0) launcher_end_later();
  comm_abort(comm, FAILED);
}

void comm_liveness_name(const struct comm *comm, double seconds) {
  char text[2048];
  FILE *out = comm_missing_host(comm) ? fmemopen(text, sizeof text, "w") : NULL;
  if (!out) return;
  fprintf(out, "gnntrain: ");
  comm_missing_name(comm, out);
  fprintf(out, " for %.0f s when SIGTERM came\n", seconds);
  fclose(out);
  fputs(text, stderr);
}

void comm_liveness_conclude(struct comm_watch *watch, double seconds) {
  const struct comm *comm = watch->comm;
  int missing = 0, before = 0;
  for (int r = 0; r < comm->size; r++) {
    missing += !comm_answered(comm, r);
    before += r < comm->rank && comm_answered(comm, r);
  }
  double turn = before == 0 ? 0 : first_seconds + step_seconds * (before - 1);
  if (turn > latest_seconds) turn = latest_seconds;
  if (seconds >= answer_seconds + turn + (missing == 0 ? recover_seconds : 0)) speak(watch, missing);
}
