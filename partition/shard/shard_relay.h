/* shard_relay: on several hosts rows of a shard's halos travel to each host once
 * (partition/halo/halo_relay.h).
 */
#ifndef PARTITION_SHARD_SHARD_RELAY_H
#define PARTITION_SHARD_SHARD_RELAY_H

#include "partition/shard/shard.h"

/* What a rank alone (runtime/comm/comm_lone.h) has. */
struct shard_whole {
  const struct graph *graph;
  const struct levels *levels;
};

/* Collective, once the levels are there. Where there are hosts of several ranks of a column of the grid, and
 * all of each host reach each other: near[r] of [ranks] says into whose memory this rank stores
 * (comm_reach_find). Devices that are the host need not. Of a hypergraph's halos none. whole: of a rank
 * alone; else NULL. Errors: FAILED when memory is short. */
int shard_add_relays(struct comm *comm, const struct directory *directory, const uint8_t *near,
                     const struct shard_whole *whole, struct shard *shard);

#endif
