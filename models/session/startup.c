#include "models/session/startup.h"

#include <limits.h>
#include <omp.h>

#include "models/train/rank_consistency.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/device/device_list.h"
#include "runtime/profile/profile.h"

/* What the thread has done; its transport counts further steps. */
enum { READY = 1, ENDED = INT_MAX };

static int choose_device(struct startup *o, const struct config *config, int threads) {
  const struct comm *comm = o->comm;
  TRY(device_choose(o->device, config->runtime.device, comm->local_rank, comm->local_size, threads));
  return kernels_choose(o->kernels, o->device, o->precision);
}

static int make_ready(struct startup *o) {
  TRY(device_start(o->device));
  return o->stopped ? OK : kernels_open(o->kernels, o->device, o->precision);
}

static int open_in_worker(void *context) {
  struct startup *o = context;
  double begun = profile_clock();
  TRY(make_ready(o));
  double ready = profile_clock();
  o->device_seconds = ready - begun;
  o->steps = READY;
  if (o->stopped) return OK;
  int code = comm_connect(o->comm, &o->steps);
  o->transport_seconds = profile_clock() - ready;
  return code;
}

static int steps_of(void *context) {
  struct startup *o = context;
  return worker_wait(&o->worker, 0) ? ENDED : o->steps;
}

static int come_to(struct startup *o, int step) {
  int code = comm_await(o->comm, steps_of, o, step);
  if (code == OK && !o->worker.running) code = worker_finish(&o->worker);
  return comm_agree(o->comm, code);
}

/* The number of threads belongs to the one that sets it: the host as a device is opened by this one. */
int startup_begin(struct startup *startup, struct comm *comm, const struct config *config, int threads,
                  struct device *device, struct kernels *kernels) {
  *startup = (struct startup){
      .comm = comm, .device = device, .kernels = kernels, .precision = config->runtime.precision};
  omp_set_num_threads(threads);
  TRY(comm_agree(comm, PROFILE_HOST("device", choose_device(startup, config, threads))));
  TRY(rank_consistency_device(comm, device->ops->name));
  if (device->ops->on_host) TRY(comm_agree(comm, make_ready(startup)));
  TRY(PROFILE_HOST("transport", comm_meet(comm, device)));
  return device->ops->on_host ? OK
                              : comm_agree(comm, worker_start(&startup->worker, open_in_worker, startup));
}

int startup_finish(struct startup *startup) {
  TRY(PROFILE_HOST("device", come_to(startup, READY)));
  TRY(PROFILE_HOST("transport", come_to(startup, ENDED)));
  return comm_agree(startup->comm, device_adopt(startup->device));
}

/* Rows of a halo are stored where that can be; slices of columns always go as messages. */
static int find_peers(struct startup *o, const struct config *config, const struct directory *directory,
                      int relays, struct shard *shard, uint8_t *peer, uint8_t *near) {
  struct comm *comm = o->comm;
  const int cols = directory->grid.cols, first = comm->rank / cols * cols;
  if (config->runtime.exchange == EXCHANGE_AUTO) TRY(comm_reach_find(comm, near));
  if (relays) TRY(shard_add_relays(comm, directory, near, NULL, shard));
  shard_peers(comm, shard, peer);
  for (int r = 0; r < comm->size; r++) peer[r] &= !near[r];
  for (int r = first; r < first + cols; r++) peer[r] = r != comm->rank;
  return OK;
}

int startup_connect_peers(struct startup *startup, const struct config *config,
                          const struct directory *directory, int relays, struct shard *shard) {
  struct comm *comm = startup->comm;
  FREED uint8_t *peer = NULL, *near = NULL;
  double begun = profile_clock();
  TRY(comm_agree(comm, memory_arrays("peers", ROOM(&peer, comm->size), ROOM(&near, comm->size))));
  TRY(find_peers(startup, config, directory, relays, shard, peer, near));
  TRY(PROFILE_HOST("transport", comm_connect_peers(comm, peer)));
  startup->transport_seconds += profile_clock() - begun;
  return OK;
}

void startup_stop(struct startup *startup) {
  if (!startup->worker.running) return;
  startup->stopped = 1;
  comm_connect_stop(startup->comm);
  while (!worker_wait(&startup->worker, 1)) continue;
}
