/* Messages under way, as they stand. */
#include "runtime/base/memory.h"
#include "runtime/comm/comm_mpi.h"

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
