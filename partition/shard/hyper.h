/* hyper: the part of a hypergraph that one rank sums: incidences of own vertices and own hyperedges.
 *
 * Sums go from vertices to hyperedges and back (partition/cut/star_expansion.h says who owns which). An inner
 * hyperedge has own vertices alone: both steps stay on the rank. Of the outer ones either vertices or
 * hyperedges travel, whichever are fewer rows over all ranks, by one plan that is used in both directions:
 *   vertices:   rows of foreign vertices come to the owners of hyperedges; sums over hyperedges for foreign
 *               vertices go back and are added there.
 *   hyperedges: sums over own vertices for foreign hyperedges go to their owners and are added there; the
 *               finished rows come back.
 * Rows that come lie in halo order; rows that go back arrive in the order in which halo.send_row packs. */
#ifndef PARTITION_SHARD_HYPER_H
#define PARTITION_SHARD_HYPER_H

#include <stdint.h>

#include "partition/graph/graph.h"
#include "partition/shard/halo.h"
#include "runtime/base/csr.h"

enum travel { TRAVEL_VERTICES, TRAVEL_HYPEREDGES };

struct hyper_vertex {
  int32_t degree; /* hyperedges that it is in */
  int32_t lonely; /* 1: none of them has it alone */
};

struct hyper_edge {
  int64_t size;            /* its vertices */
  int64_t degrees, lonely; /* sums over them */
};

/* Matrices are incidences seen as rows; columns behind `outer` are rows that arrive. */
struct hyper {
  int64_t vertices, hyperedges, incidences; /* of the whole hypergraph; vertices 0: there is none */
  int64_t own, edges, inner, outer;         /* own vertices; own hyperedges = inner + outer */
  enum travel travel;
  int64_t *edge_id;            /* [edges] the inner ones first */
  struct hyper_vertex *vertex; /* [own] */
  struct hyper_edge *edge;     /* [edges] */
  struct csr inner_edges;      /* [inner, own] */
  struct csr inner_vertices;   /* [own, inner], its transpose */
  struct csr outer_own;        /* [outer, own] */
  struct csr outer_away;       /* [outer, halo.rows] foreign vertices; or [outer, rows that go back] */
  struct csr partial;          /* [halo.rows, outer] what goes back; or [halo.rows, own] */
  struct csr rest;             /* rows with outer hyperedges, [own, outer + arrivals] */
  struct halo halo;
  uint8_t *has_halo; /* [own] 1: `rest` has that row */
};

/* Rows that arrive for `rest`. */
int64_t hyper_arrivals(const struct hyper *hyper);

/* Collective. expansion: of the star. block: this rank's rows of it, freed on the way. */
int hyper_init(struct comm *comm, const struct dataset *dataset, const struct directory *expansion,
               struct graph *block, struct hyper *hyper);
void hyper_free(struct hyper *hyper);
int64_t hyper_bytes(const struct hyper *hyper);

/* Collective. Says what travels, in rows of all ranks for one product. */
int hyper_print(struct comm *comm, const struct hyper *hyper);

#endif
