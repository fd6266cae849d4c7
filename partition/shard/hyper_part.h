/* hyper_part: the incidences of some vertices and hyperedges as matrices (hyper.h says which there are), and
 * how these follow from each other. */
#ifndef PARTITION_SHARD_HYPER_PART_H
#define PARTITION_SHARD_HYPER_PART_H

#include <stdint.h>

#include "partition/halo/halo.h"
#include "runtime/base/csr.h"

enum travel { TRAVEL_VERTICES, TRAVEL_HYPEREDGES };

/* Incidences of the first own vertices, and of the first inner and outer hyperedges, as matrices. Columns
 * behind all outer hyperedges are rows that arrive. */
struct hyper_part {
  int64_t vertices, inner, outer;
  struct csr inner_edges;    /* [inner, vertices] */
  struct csr inner_vertices; /* [vertices, inner], its transpose */
  struct csr outer_own;      /* [outer, vertices] */
  struct csr outer_away;     /* [outer, halo.rows] foreign vertices; or [outer, rows that go back] */
  struct csr partial;        /* [halo.rows, outer] what goes back; or [halo.rows, vertices] */
  struct csr rest;           /* rows with outer hyperedges, [vertices, all outer + arrivals] */
  struct halo halo;
  uint8_t *has_halo; /* [vertices] 1: `rest` has that row */
};

/* Rows that arrive for `rest`. */
int64_t hyper_arrivals(enum travel travel, const struct hyper_part *part);

/* Completes a part of which inner_edges, outer_own, partial and halo are there. outer: all outer hyperedges.
 * Errors: FAILED when memory is short; a half-built one may be freed. */
int hyper_part_complete(enum travel travel, int64_t outer, struct hyper_part *part);
void hyper_part_free(struct hyper_part *part);
int64_t hyper_part_bytes(const struct hyper_part *part);

#endif
