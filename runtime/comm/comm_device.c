/* Buffers in a device's memory: the table that carries them, and what goes through it. */
#include <assert.h>
#include <limits.h>

#include "runtime/base/error.h"
#include "runtime/base/worker.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile.h"

/* The compiled tables; the first that can carry the device's buffers is taken. */
static const struct comm_ops *const comm_list[] = {&comm_mpi_ops,
#ifdef GNNTRAIN_HAVE_CUDA
                                                   &comm_nccl_ops,
#endif
                                                   NULL};

void comm_detach(struct comm *comm) {
  if (comm->ops && comm->ops->close) comm->ops->close(comm);
}

int comm_meet(struct comm *comm, struct device *device) {
  for (int i = 0; comm_list[i]; i++) {
    if (!comm_list[i]->carries(device)) continue;
    comm_detach(comm);
    comm->ops = comm_list[i];
    comm->device = device;
    return comm->ops->open ? comm->ops->open(comm, device) : OK;
  }
  FAIL(BAD_INPUT, "this build has no way to exchange buffers of device \"%s\" between ranks",
       device->ops->name);
}

int comm_connect(struct comm *comm, atomic_int *steps) {
  return comm->ops->connect ? comm->ops->connect(comm, steps) : OK;
}

void comm_connect_stop(struct comm *comm) {
  if (comm->ops && comm->ops->stop) comm->ops->stop(comm);
}

int comm_connect_peers(struct comm *comm, const uint8_t *peer) {
  for (int r = 0; r < comm->size; r++) comm->mpi->peers[r].unconnected = r != comm->rank && !peer[r];
  return comm->ops->connect_peers && comm->size > 1 ? comm->ops->connect_peers(comm, peer) : OK;
}

/* A way that opens in the middle of training may wait for kernels that wait for its other end. */
static int have_met(const struct comm *comm, const struct message *messages, int count) {
  int met = 1;
  for (int i = 0; i < count; i++) met &= !comm->mpi->peers[messages[i].peer].unconnected;
  return met;
}

/* comm_connect in another thread, while this one watches the other ranks. */
struct connecting {
  struct comm *comm;
  struct worker worker;
  atomic_int steps;
};

static int connect_in_worker(void *context) {
  struct connecting *connecting = context;
  return comm_connect(connecting->comm, &connecting->steps);
}

static int steps_of(void *context) {
  struct connecting *connecting = context;
  return worker_wait(&connecting->worker, 0) ? INT_MAX : connecting->steps;
}

int comm_attach(struct comm *comm, struct device *device) {
  struct connecting connecting = {.comm = comm};
  TRY(comm_meet(comm, device));
  if (!comm->ops->connect) return OK;
  TRY(comm_agree(comm, worker_start(&connecting.worker, connect_in_worker, &connecting)));
  int code = comm_await(comm, steps_of, &connecting, INT_MAX);
  if (code != OK) {
    comm_connect_stop(comm);
    while (!worker_wait(&connecting.worker, 1)) continue;
    return code;
  }
  return comm_agree(comm, worker_finish(&connecting.worker));
}

int comm_exchange(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
                  int recv_count) {
  int64_t bytes = 0;
  assert(have_met(comm, sends, send_count) && have_met(comm, recvs, recv_count));
  for (int i = 0; i < send_count; i++) bytes += sends[i].peer == comm->rank ? 0 : sends[i].bytes;
  comm->sent += bytes;
  profile_begin_beside(STREAM_EXCHANGE, "exchange", (double)bytes);
  int code = comm->ops->exchange(comm, sends, send_count, recvs, recv_count);
  /* On a stream the end is queued behind the messages; host buffers are known to be there after the wait. */
  if (!comm->device->ops->on_host) profile_end_beside(STREAM_EXCHANGE);
  return code;
}

int comm_exchange_blocks(struct comm *comm, const void *send, void *recv, int64_t bytes) {
  assert(comm->size > 1);
  return comm->ops->all_to_all(comm, send, recv, bytes);
}

int comm_wait(struct comm *comm) {
  int code = comm->ops->wait ? comm->ops->wait(comm) : OK;
  profile_end_beside(STREAM_EXCHANGE);
  return code;
}

int comm_allreduce(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op) {
  double bytes = (double)count * (type == NUMBER_FLOAT ? 4 : 8);
  return PROFILE_WORK("reduce", bytes, 0, comm->ops->allreduce(comm, data, count, type, op));
}
