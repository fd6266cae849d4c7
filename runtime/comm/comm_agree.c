/* Agreements: how a stage ended on all ranks, and the end of all that is under way when it failed on one. */
#include "runtime/base/error.h"
#include "runtime/comm/comm_mpi.h"

struct verdict {
  int code, speaks;
};

/* The new communicators cannot meet a message of the old ones, whose sends may never be received. */
static int renew(struct comm *comm, MPI_Comm *communicator) {
  MPI_Request request;
  TRY_MPI(MPI_Comm_idup(comm->mpi->agree, communicator, &request));
  TRY(comm_watch_settle(comm, &request, CALL_AGREE));
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
      TRY(comm_watch_settle(comm, request, CALL_AGREE));
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
  TRY(comm_watch_settle(comm, &request, CALL_AGREE));
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
    TRY(comm_watch_settle(comm, &comm->mpi->peers[r].sending[HEARTBEAT_FAILED], CALL_AGREE));
    TRY(comm_heartbeats_send(comm, r, failed));
  }
  return OK;
}

int comm_agree(struct comm *comm, int code) {
  if (comm->size == 1 || (code != OK && error_is_agreed())) return code;
  struct verdict mine = {code, code != OK && !error_is_silent()};
  char *all = NULL;
  MPI_Request request;
  if (mine.speaks) TRY(tell_failure(comm, code));
  TRY(comm_gather_post(comm, comm->mpi->agree, &mine, sizeof mine, &all, &request));
  TRY(comm_watch_settle(comm, &request, CALL_AGREE));
  return conclude(comm, (const struct verdict *)all);
}
