#include "runtime/comm/comm_mpi.h"

#include <signal.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/comm/launcher.h"

int64_t comm_message_limit = (int64_t)1 << 30;

enum { ABORT_SECONDS = 10 };

int comm_mpi_check(int result, const char *what) {
  if (result == MPI_SUCCESS) return OK;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, text, &length);
  FAIL(FAILED, "MPI: %s in %s", text, what);
}

int comm_mpi_scratch(struct comm *comm, int64_t bytes, void **memory) {
  struct comm_scratch *scratch = &comm->mpi->scratch;
  if (bytes > scratch->bytes) {
    free(scratch->memory);
    scratch->memory = NULL;
    scratch->bytes = 0;
    TRY(memory_alloc(&scratch->memory, bytes, "communication scratch"));
    scratch->bytes = bytes;
  }
  *memory = scratch->memory;
  return OK;
}

void comm_mpi_abandon(struct comm_mpi *mpi) {
  struct comm_scratch *scratch = &mpi->scratch;
  free(scratch->abandoned);
  *scratch = (struct comm_scratch){.abandoned = scratch->memory};
}

int comm_gather_post(struct comm *comm, MPI_Comm on, const void *mine, int64_t bytes, char **all,
                     MPI_Request *request) {
  char *own = NULL;
  TRY(comm_mpi_scratch(comm, (comm->size + 1) * bytes, (void **)all));
  own = *all + comm->size * bytes;
  memcpy(own, mine, (size_t)bytes);
  TRY_MPI(MPI_Iallgather(own, (int)bytes, MPI_BYTE, *all, (int)bytes, MPI_BYTE, on, request));
  return OK;
}

static volatile sig_atomic_t abort_code;

static void abort_now(int signal_number) {
  (void)signal_number;
  launcher_end_later();
  _exit(abort_code);
}

void comm_abort_start(int code) {
  abort_code = code;
  signal(SIGALRM, abort_now);
  alarm(ABORT_SECONDS);
}

/* A pipe that nobody empties and a launcher that does not listen may block it. */
_Noreturn void comm_abort(struct comm *comm, int code) {
  comm_abort_start(code);
  fflush(stdout);
  fflush(stderr);
  if (comm->mpi && comm->mpi->started) MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

/* Messages under way, as they stand. */

void comm_requests_free(struct comm_requests *requests) {
  free_all(requests->request, requests->status, requests->piece);
  *requests = (struct comm_requests){0};
}

int comm_requests_peer(const struct comm_requests *requests) {
  for (int i = 0; requests && i < requests->count; i++) {
    int done = 1;
    if (requests->request[i] != MPI_REQUEST_NULL)
      MPI_Request_get_status(requests->request[i], &done, MPI_STATUS_IGNORE);
    if (!done) return requests->piece[i].peer;
  }
  return -1;
}
