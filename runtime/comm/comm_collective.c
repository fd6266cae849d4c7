/* Collective calls on host memory, for set-up. */
#include "runtime/base/base.h"
#include "runtime/comm/comm_mpi.h"

int comm_barrier(struct comm *comm) {
  MPI_Request request;
  if (comm_is_alone(comm)) return OK;
  TRY_MPI(MPI_Ibarrier(comm->mpi->setup, &request));
  return comm_watch_request(comm, &request, CALL_BARRIER);
}

int comm_gather_short(struct comm *comm, MPI_Comm on, const void *mine, int64_t bytes, char **all,
                      enum comm_call call) {
  MPI_Request request;
  TRY(comm_gather_post(comm, on, mine, bytes, all, &request));
  return comm_watch_request(comm, &request, call);
}

int64_t comm_block_start(const struct comm *comm, int64_t count, int r) {
  int64_t larger = count % comm->size; /* the first blocks have one more */
  return count / comm->size * r + (larger < r ? larger : r);
}

int comm_gather_blocks(struct comm *comm, char *data, int64_t count, int64_t width, enum comm_call call) {
  struct message *sends = comm->mpi->sends, *recvs = comm->mpi->recvs;
  int64_t start = comm_block_start(comm, count, comm->rank);
  int64_t own = comm_block_start(comm, count, comm->rank + 1) - start;
  for (int i = 1; i < comm->size; i++) {
    int to = (comm->rank + i) % comm->size, from = (comm->rank + comm->size - i) % comm->size;
    int64_t first = comm_block_start(comm, count, from), end = comm_block_start(comm, count, from + 1);
    sends[i - 1] = (struct message){to, data + start * width, own * width};
    recvs[i - 1] = (struct message){from, data + first * width, (end - first) * width};
  }
  return comm_messages(comm, sends, comm->size - 1, recvs, comm->size - 1, call);
}

static int broadcast_short(struct comm *comm, void *data, int64_t bytes, int root) {
  MPI_Request request;
  void *scratch = NULL;
  TRY(comm_mpi_scratch(comm, bytes, &scratch));
  if (comm->rank == root) memcpy(scratch, data, (size_t)bytes);
  TRY_MPI(MPI_Ibcast(scratch, (int)bytes, MPI_BYTE, root, comm->mpi->setup, &request));
  TRY(comm_watch_request(comm, &request, CALL_BROADCAST));
  memcpy(data, scratch, (size_t)bytes);
  return OK;
}

/* The root sends each rank one block, then all exchange their blocks: nobody sends more than the array. */
static int broadcast_long(struct comm *comm, char *data, int64_t bytes, int root) {
  struct message *sends = comm->mpi->sends, recv;
  int64_t own = comm_block_start(comm, bytes, comm->rank);
  int sent = 0;
  for (int r = 0; r < comm->size && comm->rank == root; r++) {
    int64_t first = comm_block_start(comm, bytes, r), end = comm_block_start(comm, bytes, r + 1);
    if (r != root) sends[sent++] = (struct message){r, data + first, end - first};
  }
  recv = (struct message){root, data + own, comm_block_start(comm, bytes, comm->rank + 1) - own};
  TRY(comm_messages(comm, sends, sent, &recv, comm->rank != root, CALL_BROADCAST));
  return comm_gather_blocks(comm, data, bytes, 1, CALL_BROADCAST);
}

int comm_broadcast(struct comm *comm, void *data, int64_t bytes, int root) {
  if (comm_is_alone(comm) || bytes == 0) return OK;
  return bytes <= COMM_SHORT_BYTES ? broadcast_short(comm, data, bytes, root)
                                   : broadcast_long(comm, data, bytes, root);
}

static int gather_long(struct comm *comm, const void *mine, int64_t bytes, char *all) {
  struct message *sends = comm->mpi->sends, *recvs = comm->mpi->recvs;
  for (int i = 0; i < comm->size; i++) {
    int to = (comm->rank + i) % comm->size, from = (comm->rank + comm->size - i) % comm->size;
    sends[i] = (struct message){to, (void *)(intptr_t)mine, bytes};
    recvs[i] = (struct message){from, all + from * bytes, bytes};
  }
  return comm_messages(comm, sends, comm->size, recvs, comm->size, CALL_GATHER);
}

int comm_gather_all(struct comm *comm, const void *mine, int64_t bytes, void *all) {
  char *gathered = NULL;
  if (bytes == 0) return OK;
  if (comm->lone) memset(all, 0, (size_t)(comm->size * bytes));
  if (comm_is_alone(comm) || bytes > COMM_SHORT_BYTES) return gather_long(comm, mine, bytes, all);
  TRY(comm_gather_short(comm, comm->mpi->setup, mine, bytes, &gathered, CALL_GATHER));
  memcpy(all, gathered, (size_t)(comm->size * bytes));
  return OK;
}

static int swap_sizes(struct comm *comm, const int64_t *send_bytes, int64_t *recv_bytes) {
  MPI_Request request;
  int64_t *sizes = NULL;
  size_t bytes = (size_t)comm->size * sizeof *sizes;
  if (comm_is_alone(comm)) {
    memset(recv_bytes, 0, bytes);
    recv_bytes[comm->rank] = send_bytes[comm->rank];
    return OK;
  }
  TRY(comm_mpi_scratch(comm, 2 * (int64_t)bytes, (void **)&sizes));
  memcpy(sizes, send_bytes, bytes);
  TRY_MPI(
      MPI_Ialltoall(sizes, 1, MPI_INT64_T, sizes + comm->size, 1, MPI_INT64_T, comm->mpi->setup, &request));
  TRY(comm_watch_request(comm, &request, CALL_ALL_TO_ALL));
  memcpy(recv_bytes, sizes + comm->size, bytes);
  return OK;
}

int comm_all_to_all(struct comm *comm, const void *send, const int64_t *send_bytes, void **recv,
                    int64_t *recv_bytes) {
  struct message *sends = comm->mpi->sends, *recvs = comm->mpi->recvs;
  int64_t sent = 0, total = 0;
  *recv = NULL;
  TRY(swap_sizes(comm, send_bytes, recv_bytes));
  for (int r = 0; r < comm->size; r++) total += recv_bytes[r];
  TRY(memory_alloc(recv, total, "what the other ranks send"));
  total = 0;
  for (int r = 0; r < comm->size; r++) {
    sends[r] = (struct message){r, (char *)(intptr_t)send + sent, send_bytes[r]};
    recvs[r] = (struct message){r, (char *)*recv + total, recv_bytes[r]};
    sent += send_bytes[r];
    total += recv_bytes[r];
  }
  return comm_messages(comm, sends, comm->size, recvs, comm->size, CALL_ALL_TO_ALL);
}
