/* shard_graphs: the whole graphs of a rank, where a dataset has many (io/dataset/dataset.h) and parts leave
 * each of them whole. What is said of a graph stands in the row of its first node. */
#ifndef PARTITION_SHARD_SHARD_GRAPHS_H
#define PARTITION_SHARD_SHARD_GRAPHS_H

#include "partition/shard/adjacency.h"

/* Zeroed: labels are of nodes. */
struct shard_graphs {
  int64_t all;    /* graphs of the dataset; 0: labels are of nodes */
  int64_t count;  /* own ones */
  int64_t *start; /* [count + 1] own rows that they begin with, then all own rows */
};

/* Collective. Of the dataset that was partitioned so; `in`: the arcs of own rows. Errors: BAD_INPUT for an
 * arc that leads from one graph to another. */
int shard_graphs_init(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                      const struct adjacency *in, struct shard_graphs *graphs);
void shard_graphs_free(struct shard_graphs *graphs);
int64_t shard_graphs_bytes(const struct shard_graphs *graphs);

/* Whether a graph begins with that own row. */
int shard_graphs_begin(const struct shard_graphs *graphs, int64_t row);

#endif
