#include "runtime/comm.h"

#include <assert.h>
#include <limits.h>

#include "runtime/aside.h"
#include "runtime/comm_mpi.h"
#ifdef GNNTRAIN_HAVE_CUDA
#include "runtime/comm_nccl.h"
#endif
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/memory.h"
#include "runtime/profile.h"

/* The compiled tables; the first that can carry the device's buffers is taken. */
static const struct comm_ops *const comm_list[] = {&comm_mpi_ops,
#ifdef GNNTRAIN_HAVE_CUDA
                                                   &comm_nccl_ops,
#endif
                                                   NULL};

int comm_meet(struct comm *comm, struct device *device) {
  for (int i = 0; comm_list[i]; i++) {
    if (!comm_list[i]->carries(device)) continue;
    if (comm->ops) comm->ops->close(comm);
    comm->ops = comm_list[i];
    comm->device = device;
    return comm->ops->open(comm, device);
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

/* comm_connect in another thread, while this one watches the other ranks. */
struct connecting {
  struct comm *comm;
  struct aside aside;
  atomic_int steps;
};

static int connect_aside(void *context) {
  struct connecting *connecting = context;
  return comm_connect(connecting->comm, &connecting->steps);
}

static int steps_of(void *context) {
  struct connecting *connecting = context;
  return aside_wait(&connecting->aside, 0) ? INT_MAX : connecting->steps;
}

int comm_attach(struct comm *comm, struct device *device) {
  struct connecting connecting = {.comm = comm};
  TRY(comm_meet(comm, device));
  if (!comm->ops->connect) return OK;
  TRY(comm_agree(comm, aside_start(&connecting.aside, connect_aside, &connecting)));
  int code = comm_await(comm, steps_of, &connecting, INT_MAX);
  if (code != OK) {
    comm_connect_stop(comm);
    while (!aside_wait(&connecting.aside, 1)) continue;
    return code;
  }
  return comm_agree(comm, aside_finish(&connecting.aside));
}

int comm_exchange(struct comm *comm, const struct message *sends, int send_count, const struct message *recvs,
                  int recv_count) {
  double bytes = 0;
  for (int i = 0; i < send_count; i++) bytes += (double)sends[i].bytes;
  profile_begin_beside(STREAM_EXCHANGE, "exchange", bytes);
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
  int code = comm->ops->wait(comm);
  profile_end_beside(STREAM_EXCHANGE);
  return code;
}

int comm_allreduce(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op) {
  double bytes = (double)count * (type == NUMBER_FLOAT ? 4 : 8);
  return PROFILE_WORK("reduce", bytes, 0, comm->ops->allreduce(comm, data, count, type, op));
}

int comm_sum_int64(struct comm *comm, int64_t *value) {
  return comm_reduce(comm, value, 1, NUMBER_INT64, REDUCE_SUM);
}

int comm_max_int64(struct comm *comm, int64_t *value) {
  return comm_reduce(comm, value, 1, NUMBER_INT64, REDUCE_MAX);
}

int comm_max_double(struct comm *comm, double *value) {
  return comm_reduce(comm, value, 1, NUMBER_DOUBLE, REDUCE_MAX);
}

int comm_alive(struct comm *comm) {
  if (comm->size == 1) return OK;
  TRY(comm_signs_send_all(comm, (struct sign){.kind = SIGN_ALIVE}));
  return comm_signs_look(comm);
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

/* After a failure nothing may be under way on any rank: the buffers belong to callers that will free them. */
static int end_messages(struct comm *comm) {
  MPI_Request request;
  for (int i = 0; i < 2; i++) TRY(comm_requests_cancel(comm, &comm->mpi->requests[i]));
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

int comm_agree(struct comm *comm, int code) {
  if (comm->size == 1 || (code != OK && error_is_agreed())) return code;
  struct comm_mpi *mpi = comm->mpi;
  struct verdict mine = {code, code != OK && !error_is_silent()};
  char *all = NULL;
  if (mine.speaks)
    TRY(comm_signs_send_all(comm,
                            (struct sign){.kind = SIGN_FAILED, .number = mpi->agreements, .call = code}));
  TRY(comm_gather_short(comm, mpi->agree, &mine, sizeof mine, &all, CALL_AGREE));
  return conclude(comm, (const struct verdict *)all);
}
