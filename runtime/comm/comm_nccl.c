/* An exchange is one group of ncclSend and ncclRecv on the exchange stream, straight between the ranks' GPU
 * buffers; events order it against the compute stream, so the host never waits for it. Where the host does
 * wait (device_synchronize), it polls: NCCL's asynchronous errors, heartbeats of the other ranks and the
 * deadline.
 */
#include <nccl.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/device/device_cuda.h"

struct nccl {
  ncclUniqueId id;
  ncclComm_t comm;
  int open;
  int connected;           /* from now on the host's waits are those of the main thread */
  atomic_int stopped;      /* it is not to connect any more */
  struct comm_watch watch; /* of the wait the host is in */
};

/* A recorded sum takes the way of a queued one, to the same bits. Before there are threads that read the
 * environment. */
__attribute__((constructor)) static void choose_ways(void) {
  setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

static int nccl_check(ncclResult_t result, const char *what) {
  if (result == ncclSuccess || result == ncclInProgress) return OK;
  FAIL(FAILED, "NCCL: %s in %.60s", ncclGetErrorString(result), what);
}

#define TRY_NCCL(call) TRY(nccl_check((call), #call))

static int nccl_carries(const struct device *device) {
  return strcmp(device->ops->name, "cuda") == 0;
}

struct place {
  char bus[32];
  int node;
};

/* Two ranks of a node on one GPU would hang inside NCCL. */
static int check_places(const struct comm *comm, const struct place *place) {
  for (int r = 0; r < comm->size; r++) {
    for (int q = 0; q < r; q++) {
      if (place[q].node != place[r].node || strcmp(place[q].bus, place[r].bus) != 0) continue;
      FAIL(BAD_INPUT,
           "ranks %d and %d would share GPU %s; start at most one rank a GPU (mpirun --map-by ppr:N:node), "
           "or give "
           "each rank its own by CUDA_VISIBLE_DEVICES",
           q, r, place[r].bus);
    }
  }
  return OK;
}

static int meet(struct comm *comm, struct device *device) {
  struct place mine = {.node = comm->mpi->peers[comm->rank].node}, *all = NULL;
  int code = device_cuda_bus(device, mine.bus);
  if (code == OK) code = memory_alloc(&all, comm->size * (int64_t)sizeof *all, "places of ranks");
  code = comm_agree(comm, code);
  if (code == OK) code = comm_gather_all(comm, &mine, sizeof mine, all);
  if (code == OK) code = comm_agree(comm, check_places(comm, all));
  free(all);
  return code;
}

/* While the ranks connect, in a thread that must not call MPI. */
static int check_stopped(void *context) {
  const struct nccl *nccl = ((struct comm *)context)->transport;
  if (nccl->stopped) FAIL(FAILED, "NCCL: connecting was stopped");
  usleep(50);
  return OK;
}

static int watch_connecting(void *context) {
  const struct nccl *nccl = ((struct comm *)context)->transport;
  ncclResult_t state = ncclSuccess;
  TRY(nccl_check(ncclCommGetAsyncError(nccl->comm, &state), "ncclCommGetAsyncError"));
  TRY(nccl_check(state, "the first sum over GPUs"));
  return check_stopped(context);
}

static int poll_state(struct comm *comm, ncclResult_t *state, const char *what) {
  struct nccl *nccl = comm->transport;
  TRY(nccl->connected ? comm_watch_poll(&nccl->watch) : check_stopped(comm));
  return nccl_check(ncclCommGetAsyncError(nccl->comm, state), what);
}

/* A non-blocking communicator's calls go on in the background: wait until this one has been taken up. */
static int settle(struct comm *comm, ncclResult_t state, const char *what) {
  struct nccl *nccl = comm->transport;
  int code = OK;
  if (nccl->connected) comm_watch_start(&nccl->watch, comm, CALL_EXCHANGE, NULL);
  while (code == OK && state == ncclInProgress) code = poll_state(comm, &state, what);
  if (nccl->connected) comm_watch_finish(&nccl->watch);
  return code == OK ? nccl_check(state, what) : code;
}

static int watch_ranks(struct comm *comm) {
  struct nccl *nccl = comm->transport;
  ncclResult_t state = ncclSuccess;
  if (nccl->open) TRY(nccl_check(ncclCommGetAsyncError(nccl->comm, &state), "ncclCommGetAsyncError"));
  TRY(nccl_check(state, "a transfer between GPUs"));
  return comm_watch_poll(&nccl->watch);
}

/* What the host does while it waits for the GPU: notices errors of NCCL and of the other ranks, for which
 * kernels need not wait any more then. */
static int watch_device(void *context) {
  struct comm *comm = context;
  int code = watch_ranks(comm);
  if (code != OK) comm_let_go(comm);
  return code;
}

static void start_waiting(void *context) {
  struct comm *comm = context;
  struct nccl *nccl = comm->transport;
  comm_watch_start(&nccl->watch, comm, CALL_EXCHANGE, NULL);
}

static void finish_waiting(void *context) {
  struct comm *comm = context;
  struct nccl *nccl = comm->transport;
  comm_watch_finish(&nccl->watch);
}

static void abandon(struct nccl *nccl) {
  if (nccl->open) ncclCommAbort(nccl->comm); /* unlike Destroy it waits for nobody */
  nccl->open = 0;
}

static void nccl_close(struct comm *comm) {
  struct nccl *nccl = comm->transport;
  if (!nccl) return;
  if (comm->device) comm->device->wait = (struct device_wait){0};
  abandon(nccl);
  free(nccl);
  comm->transport = NULL;
}

static int post(struct nccl *nccl, cudaStream_t stream, const struct message *sends, int send_count,
                const struct message *recvs, int recv_count) {
  for (int i = 0; i < recv_count; i++) {
    const struct message *m = &recvs[i];
    TRY_NCCL(ncclRecv(m->data, (size_t)m->bytes, ncclInt8, m->peer, nccl->comm, stream));
  }
  for (int i = 0; i < send_count; i++) {
    const struct message *m = &sends[i];
    TRY_NCCL(ncclSend(m->data, (size_t)m->bytes, ncclInt8, m->peer, nccl->comm, stream));
  }
  return OK;
}

static int nccl_exchange(struct comm *comm, const struct message *sends, int send_count,
                         const struct message *recvs, int recv_count) {
  struct nccl *nccl = comm->transport;
  cudaStream_t stream = device_cuda_stream(comm->device, STREAM_EXCHANGE);
  TRY_NCCL(ncclGroupStart());
  int code = post(nccl, stream, sends, send_count, recvs, recv_count);
  ncclResult_t state = ncclGroupEnd();
  TRY(code);
  return settle(comm, state, "the halo exchange");
}

static int nccl_all_to_all(struct comm *comm, const void *send, void *recv, int64_t bytes) {
  struct nccl *nccl = comm->transport;
  cudaStream_t stream = device_cuda_stream(comm->device, STREAM_EXCHANGE);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  return settle(comm, ncclAlltoAll(send, recv, (size_t)bytes, ncclInt8, nccl->comm, stream), "an all-to-all");
#else
  TRY_NCCL(ncclGroupStart());
  for (int r = 0; r < comm->size; r++) {
    TRY_NCCL(ncclRecv((char *)recv + r * bytes, (size_t)bytes, ncclInt8, r, nccl->comm, stream));
    TRY_NCCL(ncclSend((const char *)send + r * bytes, (size_t)bytes, ncclInt8, r, nccl->comm, stream));
  }
  return settle(comm, ncclGroupEnd(), "an all-to-all");
#endif
}

static int nccl_allreduce(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op) {
  static const ncclDataType_t types[] = {[NUMBER_INT64] = ncclInt64,
                                         [NUMBER_UINT64] = ncclUint64,
                                         [NUMBER_FLOAT] = ncclFloat,
                                         [NUMBER_DOUBLE] = ncclDouble};
  static const ncclRedOp_t ops[] = {[REDUCE_SUM] = ncclSum, [REDUCE_MAX] = ncclMax, [REDUCE_MIN] = ncclMin};
  struct nccl *nccl = comm->transport;
  if (comm->size == 1) return OK;
  cudaStream_t stream = device_cuda_stream(comm->device, STREAM_COMPUTE);
  return settle(comm, ncclAllReduce(data, data, (size_t)count, types[type], ops[op], nccl->comm, stream),
                "an allreduce");
}

enum { FIRST_SUM = 1 << 20, FIRST_MESSAGE = 1 << 10 };

/* One to each peer and one from it, wherever in the block. */
static int speak_once(struct comm *comm, const uint8_t *peer, char *block) {
  struct message *sends = comm->mpi->sends, *recvs = comm->mpi->recvs;
  int count = 0;
  for (int r = 0; r < comm->size; r++) {
    if (!peer[r]) continue;
    recvs[count] = (struct message){r, block + (1 + r) * (int64_t)FIRST_MESSAGE, FIRST_MESSAGE};
    sends[count++] = (struct message){r, block, FIRST_MESSAGE};
  }
  if (count > 0) TRY(nccl_exchange(comm, sends, count, recvs, count));
  return device_synchronize(comm->device, STREAM_EXCHANGE);
}

/* All messages of a pair take the ways that its first one opens. */
static int nccl_connect_peers(struct comm *comm, const uint8_t *peer) {
  void *block = NULL;
  const int64_t bytes = (1 + comm->size) * (int64_t)FIRST_MESSAGE;
  TRY(comm_agree(comm, device_alloc(comm->device, bytes, &block, "first messages")));
  int code = speak_once(comm, peer, block);
  if (code != OK) abandon(comm->transport);
  device_release(comm->device, block);
  return comm_agree(comm, code);
}

static int sum_once(struct comm *comm, char *block) {
  TRY(nccl_allreduce(comm, block, 2, NUMBER_FLOAT, REDUCE_SUM));
  TRY(nccl_allreduce(comm, block, FIRST_SUM / 4, NUMBER_FLOAT, REDUCE_SUM));
  return device_synchronize(comm->device, STREAM_COMPUTE);
}

/* NCCL takes the memory for sums when there is a first one: now, so that what it takes is known before
 * training is planned. A sum that the others do not take part in ends with its communicator, and only then
 * the block can be given back. */
static int open_sums(struct comm *comm) {
  void *block = NULL;
  int code = device_alloc(comm->device, FIRST_SUM, &block, "the first sum over ranks");
  if (code == OK) code = sum_once(comm, block);
  if (code != OK) abandon(comm->transport);
  device_release(comm->device, block);
  return code;
}

static int connect_all(struct comm *comm, atomic_int *steps) {
  struct nccl *nccl = comm->transport;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0; /* a rank that dies here must not hold the others */
  ncclResult_t state = ncclCommInitRankConfig(&nccl->comm, comm->size, nccl->id, comm->rank, &config);
  nccl->open = 1;
  TRY(settle(comm, state, "ncclCommInitRankConfig"));
  ++*steps;
  return open_sums(comm);
}

static int nccl_connect(struct comm *comm, atomic_int *steps) {
  struct nccl *nccl = comm->transport;
  struct device *device = comm->device;
  if (comm->size == 1) return OK;
  TRY(device_cuda_adopt(device));
  device->wait = (struct device_wait){.poll = watch_connecting, .context = comm};
  int code = connect_all(comm, steps);
  if (code != OK) abandon(nccl);
  nccl->connected = code == OK;
  device->wait = code == OK ? (struct device_wait){start_waiting, watch_device, finish_waiting, comm}
                            : (struct device_wait){0};
  return code;
}

static void nccl_stop(struct comm *comm) {
  struct nccl *nccl = comm->transport;
  if (nccl) nccl->stopped = 1;
}

static int nccl_open(struct comm *comm, struct device *device) {
  struct nccl *nccl = NULL;
  TRY(comm_agree(comm, memory_alloc(&nccl, (int64_t)sizeof *nccl, "a transport")));
  comm->transport = nccl;
  if (comm->size == 1) return OK;
  TRY(meet(comm, device));
  TRY(comm_agree(comm, comm->rank == 0 ? nccl_check(ncclGetUniqueId(&nccl->id), "ncclGetUniqueId") : OK));
  return comm_broadcast(comm, &nccl->id, sizeof nccl->id, 0);
}

const struct comm_ops comm_nccl_ops = {
    .name = "nccl",
    .carries = nccl_carries,
    .open = nccl_open,
    .connect = nccl_connect,
    .connect_peers = nccl_connect_peers,
    .stop = nccl_stop,
    .close = nccl_close,
    .exchange = nccl_exchange,
    .all_to_all = nccl_all_to_all,
    .allreduce = nccl_allreduce,
};
