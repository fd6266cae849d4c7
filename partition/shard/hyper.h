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
#include "partition/shard/hyper_part.h"
#include "partition/shard/shard_levels.h"

struct hyper_vertex {
  int32_t degree; /* hyperedges that it is in */
  int32_t lonely; /* 1: none of them has it alone */
};

struct hyper_edge {
  int64_t size;            /* its vertices */
  int64_t degrees, lonely; /* sums over them */
};

/* Of the hyperedges up to a level (levels.h), which are the first ones of their kind. A product with the rows
 * of the level goes to the hyperedges by `all` and back by `rows`; its gradient there by `rows` and back by
 * `all`. */
struct hyper_level {
  struct hyper_part rows; /* their vertices up to the level */
  struct hyper_part all;  /* all their vertices */
};

struct hyper {
  int64_t vertices, hyperedges, incidences; /* of the whole hypergraph; vertices 0: there is none */
  int64_t own, edges, inner, outer;         /* own vertices; own hyperedges = inner + outer */
  enum travel travel;
  int64_t *edge_id;            /* [edges] the inner ones first */
  struct hyper_vertex *vertex; /* [own] */
  struct hyper_edge *edge;     /* [edges] */
  struct hyper_part all;
  struct hyper_level *level; /* [levels] */
  int levels;
};

/* Collective. expansion: of the star. block: this rank's rows of it, freed on the way. */
int hyper_init(struct comm *comm, const struct dataset *dataset, const struct directory *expansion,
               struct graph *block, struct hyper *hyper);
/* Collective. Adds the levels, by which the order of the star's directory must run. shard: the levels of the
 * vertices. */
int hyper_add_levels(struct comm *comm, const struct directory *star, const struct levels *levels,
                     const struct shard_levels *shard, struct hyper *hyper);
void hyper_free(struct hyper *hyper);
int64_t hyper_bytes(const struct hyper *hyper);

/* Collective. Says what travels, in rows of all ranks for one product. */
int hyper_print(struct comm *comm, const struct hyper *hyper);

#endif
