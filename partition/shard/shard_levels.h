/* shard_levels: what an epoch computes of layers that need not compute all rows of a shard (levels.h): the
 * adjacencies from the own rows up to a level to those up to the next one, and back, with plans of their own.
 */
#ifndef PARTITION_SHARD_SHARD_LEVELS_H
#define PARTITION_SHARD_SHARD_LEVELS_H

#include "partition/shard/adjacency.h"
#include "partition/shard/levels.h"

/* Both adjacencies are without `self` and `degree`. */
struct shard_level {
  int64_t rows;
  double rows_share, arcs_share; /* of the whole graph, see struct levels */
  struct adjacency forward;  /* [rows, rows of the next level]: all entries of these rows, which it borrows */
  struct adjacency backward; /* the other way; of evaluations' levels empty */
};

/* As in struct levels. */
struct shard_levels {
  int count; /* the rows of one more would be all ... */
  int stride;
  int summed; /* the first ones have adjacencies */
  int closed; /* ... or the same as those of the last */
  struct shard_level *of;
};

/* Own nodes of a shard, in an order by levels, and its whole adjacencies; `out`: of P^T, the same for a
 * symmetric graph. */
struct shard_rows {
  int64_t own;
  const int64_t *global_id;
  const struct adjacency *in, *out;
};

/* The level one hop further down; `all` where its rows are. */
int shard_level_below(const struct shard_levels *shard, int level, int all);

/* Collective. */
int shard_levels_init(struct comm *comm, const struct directory *directory, const struct levels *levels,
                      const struct shard_rows *rows, struct shard_levels *shard);
void shard_levels_free(struct shard_levels *shard);
int64_t shard_levels_bytes(const struct shard_levels *shard);

#endif
