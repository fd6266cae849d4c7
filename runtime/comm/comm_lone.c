#include "runtime/comm/comm_lone.h"

#include <math.h>
#include <time.h>

#include "runtime/base/base.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/device/device.h"
#include "runtime/profile/profile_clock.h"

/* The transport. until: when the exchange under way ends on the host's clock, where that is the device's. */
struct lone {
  struct network network;
  struct network_link within; /* of messages; the network's is that of stores meanwhile */
  int exchanges;              /* since the last wait, */
  double first, seconds;      /* what the first of them takes, and all */
  double until;
};

/* Bytes that leave and reach a rank by one way. */
struct load {
  double out, in;
};

static void add(const struct network *network, int rank, const struct message *messages, int count,
                int outwards, struct load *within, struct load *between) {
  for (int i = 0; i < count; i++) {
    if (messages[i].peer == rank) continue;
    const int near = messages[i].peer / network->local_size == rank / network->local_size;
    struct load *load = near ? within : between;
    *(outwards ? &load->out : &load->in) += (double)messages[i].bytes;
  }
}

static double seconds_of(const struct network_link *link, const struct load *load) {
  const double bytes = fmax(load->out, load->in);
  return bytes > 0 ? link->start + bytes * link->byte : 0;
}

/* Both ways are used at once. */
double network_exchange_seconds(const struct network *network, int rank, const struct message *sends,
                                int send_count, const struct message *recvs, int recv_count) {
  struct load within = {0}, between = {0};
  add(network, rank, sends, send_count, 1, &within, &between);
  add(network, rank, recvs, recv_count, 0, &within, &between);
  return fmax(seconds_of(&network->within, &within), seconds_of(&network->between, &between));
}

static double ring(const struct network_link *link, int ranks, double bytes) {
  if (ranks < 2) return 0;
  const double steps = log2(ranks), passed = 2. * (ranks - 1) / ranks * bytes;
  const double start = link->reduce_start * steps, many = start + passed * link->byte;
  return link->reduce_byte > 0 ? fmin(start + passed * link->reduce_byte, many + link->start * steps) : many;
}

double network_reduce_seconds(const struct network *network, int ranks, double bytes) {
  const int local = (int)smaller(ranks, network->local_size), hosts = (ranks + local - 1) / local;
  return ring(&network->within, local, bytes) + ring(&network->between, hosts, bytes / local);
}

/* Where streams wait, the way takes its time on a stream; else the host waits for the end. */
static int pass(struct comm *comm, enum stream stream, double seconds) {
  struct lone *lone = comm->transport;
  if (!comm->device->ops->on_host) return device_delay(comm->device, stream, seconds);
  lone->until = fmax(lone->until, profile_clock()) + seconds;
  return OK;
}

static int lone_exchange(struct comm *comm, const struct message *sends, int send_count,
                         const struct message *recvs, int recv_count) {
  struct lone *lone = comm->transport;
  const double seconds = network_exchange_seconds(&lone->network, comm->rank, sends, send_count, recvs,
                                                  recv_count);
  if (lone->exchanges++ == 0) lone->first = seconds;
  lone->seconds += seconds;
  return pass(comm, STREAM_EXCHANGE, seconds);
}

static void sleep_until(double then) {
  const double left = then - profile_clock();
  if (!(left > 0)) return;
  struct timespec rest = {(time_t)left, (long)(1e9 * (left - floor(left)))};
  while (nanosleep(&rest, &rest) != 0) continue;
}

/* What was computed meanwhile had less of the device; what waits for the messages anyway does not mind. */
static int share_device(struct comm *comm, double seconds) {
  const struct lone *lone = comm->transport;
  if (comm->device->ops->on_host) return OK;
  return device_delay(comm->device, STREAM_COMPUTE, lone->network.beside * seconds);
}

int comm_lone_wait_first(struct comm *comm) {
  struct lone *lone = comm->transport;
  const double first = lone->first;
  lone->seconds -= first;
  lone->first = 0;
  return share_device(comm, first);
}

static int lone_wait(struct comm *comm) {
  struct lone *lone = comm->transport;
  const double seconds = lone->seconds;
  lone->seconds = lone->first = 0;
  lone->exchanges = 0;
  TRY(share_device(comm, seconds));
  if (comm->device->ops->on_host) sleep_until(lone->until);
  return OK;
}

static int lone_allreduce(struct comm *comm, void *data, int64_t count, enum number type, enum reduction op) {
  const struct lone *lone = comm->transport;
  const double bytes = (double)count * (type == NUMBER_FLOAT ? 4 : 8);
  (void)data, (void)op;
  TRY(pass(comm, STREAM_COMPUTE, network_reduce_seconds(&lone->network, comm->size, bytes)));
  if (comm->device->ops->on_host) sleep_until(lone->until);
  return OK;
}

static void lone_close(struct comm *comm) {
  free(comm->transport);
  comm->transport = NULL;
}

void comm_lone_stores(struct comm *comm, int stores) {
  struct lone *lone = comm->transport;
  const int stored = stores && lone->network.stored.byte > 0;
  lone->network.within = stored ? lone->network.stored : lone->within;
}

static const struct comm_ops comm_lone_ops = {.name = "none",
                                              .close = lone_close,
                                              .exchange = lone_exchange,
                                              .wait = lone_wait,
                                              .allreduce = lone_allreduce};

int comm_lone_open(struct comm *comm, const struct comm *of, int rank, int size,
                   const struct network *network) {
  struct lone *lone = NULL;
  *comm = (struct comm){.ops = &comm_lone_ops,
                        .rank = rank,
                        .size = size,
                        .lone = 1,
                        .local_rank = rank % network->local_size,
                        .local_size = (int)smaller(size, network->local_size),
                        .nodes = (size + network->local_size - 1) / network->local_size,
                        .timeout = of->timeout};
  TRY(memory_arrays("communication", ROOM(&comm->mpi, 1), ROOM(&lone, 1)));
  comm->transport = lone;
  lone->network = *network;
  lone->within = network->within;
  comm->mpi->setup = comm->mpi->exchange = comm->mpi->agree = comm->mpi->heartbeats = MPI_COMM_NULL;
  comm->mpi->heartbeat_request = MPI_REQUEST_NULL;
  comm->mpi->failed_rank = -1;
  TRY(memory_arrays("ranks", ROOM(&comm->mpi->peers, size), ROOM(&comm->mpi->sends, size),
                    ROOM(&comm->mpi->recvs, size)));
  for (int r = 0; r < size; r++) comm->mpi->peers[r].node = r / network->local_size * network->local_size;
  return OK;
}

void comm_lone_attach(struct comm *comm, struct device *device) {
  comm->device = device;
}
