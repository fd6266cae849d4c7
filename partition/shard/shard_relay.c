/* Which halos of a shard have relays, and what they need. */
#include "partition/halo/halo_relay_lone.h"
#include "partition/shard/shard.h"
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

/* Whether a host has several ranks of a column of the grid, and there are several hosts. */
static int has_gateways(const struct comm *comm, int cols) {
  int shared = 0;
  for (int r = 0; r < comm->size; r++) {
    for (int other = r % cols; other < r; other += cols)
      shared |= comm_host(comm, r) == comm_host(comm, other);
  }
  return comm->nodes > 1 && shared;
}

static void parcels_free(struct halo_parcels *parcels) {
  free_all(parcels->words, parcels->bytes);
}

struct relays {
  struct comm *comm;
  const struct directory *directory;
  const struct shard_whole *whole;
};

static int add(const struct relays *relays, struct halo_arcs arcs, struct adjacency *adjacency) {
  ENDED_BY(parcels_free) struct halo_parcels parcels = {0};
  const struct directory *directory = relays->directory;
  const struct shard_whole *whole = relays->whole;
  if (whole) arcs.graph = whole->graph;
  if (whole) TRY(halo_foresee_parcels(relays->comm, directory, &arcs, &parcels));
  return halo_relay_init(relays->comm, directory->grid.cols, directory->rows, whole ? &parcels : NULL,
                         &adjacency->halo);
}

/* The arcs of products with rows of a level, as shard_levels_init has cut them out. */
static int add_level(const struct relays *relays, const struct shard *shard, int level) {
  const struct shard_levels *levels = &shard->levels;
  const int next = shard_level_below(levels, level, levels->count);
  const uint8_t *of = relays->whole ? relays->whole->levels->of : NULL;
  TRY(add(relays, (struct halo_arcs){.level = of, .needing = level, .needed = next},
          &levels->of[level].forward));
  if (level % levels->stride != 0) return OK;
  return add(relays,
             (struct halo_arcs){.transposed = shard->directed, .level = of, .needing = next, .needed = level},
             &levels->of[level].backward);
}

int shard_add_relays(struct comm *comm, const struct directory *directory, const uint8_t *near,
                     const struct shard_whole *whole, struct shard *shard) {
  const struct relays relays = {comm, directory, whole};
  int64_t reach = 0;
  if (!has_gateways(comm, directory->grid.cols)) return OK;
  TRY(find_reach(comm, near, &reach));
  if (!reach) return OK;
  TRY(add(&relays, (struct halo_arcs){0}, &shard->in));
  if (shard->directed) TRY(add(&relays, (struct halo_arcs){.transposed = 1}, &shard->out));
  for (int level = 0; level < smaller(shard->levels.summed, shard->levels.count); level++)
    TRY(add_level(&relays, shard, level));
  return OK;
}
