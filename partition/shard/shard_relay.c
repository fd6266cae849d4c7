#include "partition/shard/shard_relay.h"

#include "partition/halo/halo_relay.h"
#include "runtime/base/base.h"
#include "runtime/device/device.h"

/* Whether all ranks reach those of their hosts. */
static int find_reach(struct comm *comm, const uint8_t *near, int64_t *all) {
  int64_t lacking = 0;
  for (int r = 0; r < comm->size && !comm->device->ops->on_host; r++)
    lacking |= r != comm->rank && comm_host(comm, r) == comm_host(comm, comm->rank) && !near[r];
  TRY(comm_max_int64(comm, &lacking));
  *all = !lacking;
  return OK;
}

static int add(struct comm *comm, const struct directory *directory, struct adjacency *adjacency) {
  return halo_relay_init(comm, directory->grid.cols, directory->rows, NULL, &adjacency->halo);
}

int shard_add_relays(struct comm *comm, const struct directory *directory, const uint8_t *near,
                     struct shard *shard) {
  int64_t reach = 0;
  if (comm->nodes == 1 || comm->nodes == comm->size) return OK;
  TRY(find_reach(comm, near, &reach));
  if (!reach) return OK;
  TRY(add(comm, directory, &shard->in));
  if (shard->directed) TRY(add(comm, directory, &shard->out));
  for (int level = 0; level < shard->levels.count; level++) {
    TRY(add(comm, directory, &shard->levels.of[level].forward));
    TRY(add(comm, directory, &shard->levels.of[level].backward));
  }
  return OK;
}
