/* halo_relay_lone: what the gateway of a host, alone (runtime/comm/comm_lone.h), would be told of rows that
 * come from other hosts. */
#ifndef PARTITION_HALO_HALO_RELAY_LONE_H
#define PARTITION_HALO_HALO_RELAY_LONE_H

#include "partition/graph/graph.h"
#include "partition/halo/halo_relay.h"

/* Why rows travel: an arc of the whole graph makes the owner of its row need its column's node. */
struct halo_arcs {
  const struct graph *graph;
  int transposed;       /* the owner of its column needs its row's node */
  const uint8_t *level; /* of each node; NULL: all nodes */
  int needing, needed;  /* arcs between nodes up to these levels */
};

/* Of this rank as a gateway, in its column of the grid. The caller frees the parcels, after failures, too.
 * Errors: FAILED when memory is short. */
int halo_foresee_parcels(const struct comm *comm, const struct directory *directory,
                         const struct halo_arcs *arcs, struct halo_parcels *parcels);

#endif
