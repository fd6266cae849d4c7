/* The table for buffers in host memory: MPI carries them. */
#include "runtime/base/error.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/device/device.h"

static int mpi_carries(const struct device *device) {
  return device->ops->on_host;
}

static int mpi_exchange(struct comm *comm, const struct message *sends, int send_count,
                        const struct message *recvs, int recv_count) {
  return comm_requests_post(comm, &comm->mpi->requests[1], comm->mpi->exchange, sends, send_count, recvs,
                            recv_count);
}

static int mpi_wait(struct comm *comm) {
  return comm_requests_wait(comm, &comm->mpi->requests[1], CALL_EXCHANGE);
}

/* Such calls cannot be cancelled: the wait is in here. */
static int mpi_all_to_all(struct comm *comm, const void *send, void *recv, int64_t bytes) {
  MPI_Request request;
  if (bytes > comm_message_limit)
    FAIL(BAD_INPUT, "MPI_Alltoall of %lld bytes a block; at most %lld", (long long)bytes,
         (long long)comm_message_limit);
  TRY_MPI(
      MPI_Ialltoall(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, comm->mpi->exchange, &request));
  return comm_watch_request(comm, &request, CALL_EXCHANGE);
}

const struct comm_ops comm_mpi_ops = {
    .name = "mpi",
    .carries = mpi_carries,
    .exchange = mpi_exchange,
    .wait = mpi_wait,
    .all_to_all = mpi_all_to_all,
    .allreduce = comm_reduce,
};
