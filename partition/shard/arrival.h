/* arrival: one direction of the adjacency on its way to the owners of its rows. */
#ifndef PARTITION_SHARD_ARRIVAL_H
#define PARTITION_SHARD_ARRIVAL_H

#include "partition/graph/graph.h"
#include "partition/graph/partition.h"
#include "partition/shard/halo.h"
#include "runtime/comm/comm.h"

enum { ARRIVAL_RUNS = 8 }; /* of ascending global ids, at most */

/* What arrives, and how far sending got. */
struct arrival {
  const struct partition *partition;
  const struct graph *block;
  int transposed;
  int64_t own;              /* nodes of this rank's row of the grid, all ranks of which hold their rows */
  const int64_t *global_id; /* [own] */
  int64_t run[ARRIVAL_RUNS + 1]; /* where global ids begin to ascend, as a level's do; then own */
  int runs;                      /* 0: there are more */
  int32_t *count;                /* [nodes] entries of each row that this rank sends */
  int32_t *local;                /* [nodes] local id; below 0: not here */
  int64_t *start;                /* [own + 1] rows that arrive */
  int64_t *filled;               /* [own] entries there so far; then what count_halo says */
  int32_t *col;                  /* global ids, then local ids */
  float *weight;                 /* NULL: binary */
  int64_t row, edge;             /* next to send ... */
  int copies;                    /* ... and how many ranks of its row of the grid have got it */
};

/* Collective. Brings this rank's rows here and numbers the halo; the caller has set partition, block,
 * transposed, own and global_id. */
int arrival_receive(struct comm *comm, struct arrival *a, struct halo *halo);
/* Local ids for global ones, ascending in each row. */
int arrival_renumber(struct arrival *a);
/* Frees what only receiving needs. */
void arrival_forget_lengths(struct arrival *a);
void arrival_free(struct arrival *a);

#endif
