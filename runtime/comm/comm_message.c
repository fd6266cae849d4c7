/* Messages of any size between pairs of ranks: split, posted all at once, waited for, and checked. */
#include <assert.h>

#include "runtime/base/base.h"
#include "runtime/comm/comm_mpi.h"

enum { TAG = 1 }; /* messages of a pair match in the order they were posted */

static int64_t pieces_of(const struct message *messages, int count) {
  int64_t pieces = 0;
  for (int i = 0; i < count; i++) pieces += (messages[i].bytes + comm_message_limit - 1) / comm_message_limit;
  return pieces;
}

static int reserve(struct comm_requests *requests, int64_t pieces) {
  if (pieces > INT32_MAX)
    FAIL(FAILED, "%lld pieces of messages at once; at most 2147483647", (long long)pieces);
  if (pieces <= requests->capacity) return OK;
  comm_requests_free(requests);
  TRY(memory_alloc(&requests->request, pieces * (int64_t)sizeof(MPI_Request), "requests"));
  TRY(memory_alloc(&requests->status, pieces * (int64_t)sizeof(MPI_Status), "requests"));
  TRY(memory_arrays("requests", ROOM(&requests->piece, pieces)));
  requests->capacity = (int)pieces;
  return OK;
}

static int post(struct comm_requests *requests, MPI_Comm on, const struct message *message, int receives) {
  for (int64_t first = 0; first < message->bytes; first += comm_message_limit) {
    int64_t rest = message->bytes - first;
    int bytes = (int)(rest < comm_message_limit ? rest : comm_message_limit);
    char *data = (char *)message->data + first;
    MPI_Request *request = &requests->request[requests->count];
    requests->piece[requests->count] = (struct comm_piece){message->peer, bytes, receives};
    if (receives)
      TRY_MPI(MPI_Irecv(data, bytes, MPI_BYTE, message->peer, TAG, on, request));
    else
      TRY_MPI(MPI_Isend(data, bytes, MPI_BYTE, message->peer, TAG, on, request));
    requests->count++;
  }
  return OK;
}

/* A rank's messages to itself are copies, in order. */
static int copy_own(struct comm *comm, const struct message *sends, int send_count,
                    const struct message *recvs, int recv_count) {
  int s = 0, r = 0;
  for (;; s++, r++) {
    while (s < send_count && sends[s].peer != comm->rank) s++;
    while (r < recv_count && recvs[r].peer != comm->rank) r++;
    if (s == send_count && r == recv_count) return OK;
    int64_t sent = s < send_count ? sends[s].bytes : -1, expected = r < recv_count ? recvs[r].bytes : -1;
    if (sent != expected)
      FAIL(FAILED, "rank %d sends itself %lld bytes and expects %lld", comm->rank, (long long)sent,
           (long long)expected);
    if (sent > 0) memmove(recvs[r].data, sends[s].data, (size_t)sent);
  }
}

static int check_messages(struct comm *comm, const struct message *messages, int count) {
  for (int i = 0; i < count; i++) {
    if (messages[i].peer < 0 || messages[i].peer >= comm->size || messages[i].bytes < 0)
      FAIL(FAILED, "message of %lld bytes with rank %d; there are ranks 0 to %d",
           (long long)messages[i].bytes, messages[i].peer, comm->size - 1);
  }
  return OK;
}

static int post_all(struct comm *comm, struct comm_requests *requests, MPI_Comm on,
                    const struct message *sends, int send_count, const struct message *recvs,
                    int recv_count) {
  assert(requests->count == 0); /* one set of messages is under way at a time */
  TRY(check_messages(comm, sends, send_count));
  TRY(check_messages(comm, recvs, recv_count));
  if (comm->lone) return copy_own(comm, sends, send_count, recvs, recv_count);
  TRY(reserve(requests, pieces_of(sends, send_count) + pieces_of(recvs, recv_count)));
  for (int i = 0; i < recv_count; i++)
    if (recvs[i].peer != comm->rank) TRY(post(requests, on, &recvs[i], 1));
  for (int i = 0; i < send_count; i++)
    if (sends[i].peer != comm->rank) TRY(post(requests, on, &sends[i], 0));
  return copy_own(comm, sends, send_count, recvs, recv_count);
}

/* What is under way reads and writes buffers that the caller frees after a failure: the ranks agree on it
 * before that, which ends all messages. */
static int end_on_failure(struct comm *comm, int code) {
  if (code != OK) TRY(comm_agree(comm, code));
  return OK;
}

int comm_requests_post(struct comm *comm, struct comm_requests *requests, MPI_Comm on,
                       const struct message *sends, int send_count, const struct message *recvs,
                       int recv_count) {
  return end_on_failure(comm, post_all(comm, requests, on, sends, send_count, recvs, recv_count));
}

/* What has come must be as long as what was expected. */
static int check_received(struct comm *comm, const struct comm_requests *requests, int result) {
  for (int i = 0; i < requests->count; i++) {
    const struct comm_piece *piece = &requests->piece[i];
    int state = result == MPI_ERR_IN_STATUS ? requests->status[i].MPI_ERROR : result, bytes = 0;
    if (state == MPI_ERR_TRUNCATE)
      FAIL(FAILED, "rank %d: a message of rank %d is longer than the %d bytes expected", comm->rank,
           piece->peer, piece->bytes);
    if (state != MPI_SUCCESS || !piece->receives) continue;
    TRY_MPI(MPI_Get_count(&requests->status[i], MPI_BYTE, &bytes));
    if (bytes != piece->bytes)
      FAIL(FAILED, "rank %d: a message of rank %d has %d bytes, %d expected", comm->rank, piece->peer, bytes,
           piece->bytes);
  }
  return comm_mpi_check(result, "MPI_Testall");
}

static int poll_all(struct comm_watch *watch, struct comm_requests *requests) {
  for (int done = 0;;) {
    int result = MPI_Testall(requests->count, requests->request, &done, requests->status);
    if (result != MPI_SUCCESS || done) return check_received(watch->comm, requests, result);
    TRY(comm_watch_poll(watch));
  }
}

int comm_requests_wait(struct comm *comm, struct comm_requests *requests, enum comm_call call) {
  struct comm_watch watch;
  if (requests->count == 0) return OK; /* always so for one rank, where MPI may not run */
  comm_watch_start(&watch, comm, call, requests);
  int code = poll_all(&watch, requests);
  comm_watch_finish(&watch);
  if (code == OK) requests->count = 0;
  return end_on_failure(comm, code);
}

int comm_messages(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
                  int recv_count, enum comm_call call) {
  struct comm_requests *requests = &comm->mpi->requests[0];
  TRY(comm_requests_post(comm, requests, comm->mpi->setup, sends, send_count, recvs, recv_count));
  return comm_requests_wait(comm, requests, call);
}

int comm_swap(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
              int recv_count) {
  return comm_messages(comm, sends, send_count, recvs, recv_count, CALL_SWAP);
}
