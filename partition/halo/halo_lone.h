/* halo_lone: what the peers of a rank alone (runtime/comm/comm_lone.h) would ask of it. An own row is sent to
 * each peer whose rows it has an arc to: the adjacency in the other direction knows them. */
#ifndef PARTITION_HALO_HALO_LONE_H
#define PARTITION_HALO_HALO_LONE_H

#include "partition/halo/halo.h"
#include "runtime/base/csr.h"

/* Arcs between own rows [0, rows) and nodes of others up to a level, of the other direction. */
struct halo_reach {
  const struct csr *part; /* its halo part: rows are own ones, columns halo rows ... */
  const int64_t *id;      /* ... of these ids */
  int64_t rows;
  const uint8_t *level; /* of each node; NULL: all nodes */
  int last;
};

/* Completes the plan of halo->rows, halo->id, whose peers are not known yet. Errors: FAILED when memory is
 * short. */
int halo_foresee(struct comm *comm, const struct directory *directory, const struct halo_reach *reach,
                 struct halo *halo);

#endif
