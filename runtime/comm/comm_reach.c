/* Device memory of ranks that share a host, in each other's reach. */
#include "runtime/base/base.h"
#include "runtime/comm/comm_lone.h"
#include "runtime/comm/comm_mpi.h"
#include "runtime/device/device.h"

/* What a rank says of its block. */
struct offer {
  int node, given;
  struct device_handle handle;
};

struct offers {
  struct offer *of;              /* [size] */
  unsigned char *found, *mutual; /* [size] whom this rank reaches; [size, size] whom all do */
};

static void offers_free(struct offers *offers) {
  free_all(offers->of, offers->found, offers->mutual);
}

static int prepare(struct comm *comm, struct comm_reach *reach, struct offers *offers) {
  const int64_t size = comm->size;
  TRY(memory_arrays("blocks in reach", ROOM(&reach->at, size), ROOM(&offers->of, size),
                    ROOM(&offers->found, size), ROOM(&offers->mutual, size * size)));
  return device_host_alloc(comm->device, sizeof *reach->ended, (void **)&reach->ended, "a flag");
}

static int give(struct comm *comm, struct comm_reach *reach, struct offers *offers) {
  struct offer mine = {.node = comm->mpi->peers[comm->rank].node};
  mine.given = comm->device->ops->share->give(comm->device, reach->block, &mine.handle);
  return comm_gather_all(comm, &mine, sizeof mine, offers->of);
}

static int take(struct comm *comm, struct comm_reach *reach, struct offers *offers) {
  const struct offer *mine = &offers->of[comm->rank];
  for (int r = 0; r < comm->size; r++) {
    const struct offer *theirs = &offers->of[r];
    if (r == comm->rank || theirs->node != mine->node || !theirs->given || !mine->given) continue;
    void *at = NULL;
    offers->found[r] = comm->device->ops->share->take(comm->device, &theirs->handle, &at) != 0;
    if (offers->found[r]) reach->at[r] = at;
  }
  return comm_gather_all(comm, offers->found, comm->size, offers->mutual);
}

static void leave(struct comm *comm, struct comm_reach *reach, int rank) {
  if (reach->at[rank]) comm->device->ops->share->leave(comm->device, reach->at[rank]);
  reach->at[rank] = NULL;
}

static int is_neighbour(const struct comm *comm, int rank) {
  return rank != comm->rank && comm_host(comm, rank) == comm_host(comm, comm->rank);
}

/* Without the other ranks: as if all of a host reached each other. Nothing is stored there. */
static int reach_alone(struct comm *comm, struct comm_reach *reach) {
  TRY(memory_arrays("blocks in reach", ROOM(&reach->at, comm->size)));
  for (int r = 0; r < comm->size && !comm->device->ops->on_host; r++) {
    if (is_neighbour(comm, r)) reach->at[r] = reach->block;
  }
  return OK;
}

static int open_all(struct comm *comm, struct comm_reach *reach) {
  ENDED_BY(offers_free) struct offers offers = {0};
  TRY(comm_agree(comm, prepare(comm, reach, &offers)));
  TRY(give(comm, reach, &offers));
  TRY(take(comm, reach, &offers));
  for (int r = 0; r < comm->size; r++) {
    if (!offers.mutual[r * comm->size + comm->rank]) leave(comm, reach, r);
  }
  return OK;
}

static void end(struct comm *comm, struct comm_reach *reach) {
  for (int r = 0; reach->at && r < comm->size && !comm->lone; r++) leave(comm, reach, r);
  if (comm->ended) (void)comm_barrier(comm); /* all have left before anyone's block goes */
  device_host_release(comm->device, reach->ended);
  free(reach->at);
  *reach = (struct comm_reach){0};
  comm->ended = NULL;
}

int comm_reach_open(struct comm *comm, void *block, struct comm_reach *reach) {
  *reach = (struct comm_reach){.block = block};
  if (comm->size == 1) return OK;
  if (comm->lone) return reach_alone(comm, reach);
  if (!comm->device->ops->share) return OK;
  int code = open_all(comm, reach);
  if (code != OK)
    end(comm, reach);
  else
    comm->ended = reach->ended;
  return code;
}

void comm_let_go(struct comm *comm) {
  if (comm->ended) *comm->ended = 1;
}

void comm_reach_close(struct comm *comm, struct comm_reach *reach) {
  if (!reach->at) return;
  comm_let_go(comm);
  end(comm, reach);
}

/* By a block of the size that devices give to one process alone. */
int comm_reach_find(struct comm *comm, uint8_t *near) {
  enum { BLOCK = 2 << 20 };
  struct comm_reach reach = {0};
  void *block = NULL;
  for (int r = 0; r < comm->size; r++) near[r] = comm->lone && is_neighbour(comm, r);
  if (comm->lone || !comm->device->ops->share) return OK;
  TRY(comm_agree(comm, device_alloc(comm->device, BLOCK, &block, "a block to reach")));
  const int code = comm_reach_open(comm, block, &reach);
  for (int r = 0; reach.at && r < comm->size; r++) near[r] = reach.at[r] != NULL;
  comm_reach_close(comm, &reach);
  device_release(comm->device, block);
  return code;
}
