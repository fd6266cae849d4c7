/* order_rate: what shards are like, and how densely an order packs their arcs: arcs counted by cells of 128
 * rows and 64 columns, columns numbered as shards number them, own nodes first and then the halo by owner. */
#ifndef PARTITION_ORDER_ORDER_RATE_H
#define PARTITION_ORDER_ORDER_RATE_H

#include "kernels/cost/cost_model.h"
#include "partition/graph/graph.h"

/* An order of the rows that a graph holds, shard after shard; their columns are numbered from 0 on, or from
 * graph->first on where rows stand as the file has them. */
struct order_view {
  int parts;             /* shards that these rows are of */
  int64_t first, nodes;  /* the first row's place in the order of all nodes, and how many these are */
  const int64_t *order;  /* the rows of shard p are order[offset[p] .. offset[p + 1]); NULL: they ascend */
  const int64_t *offset; /* [parts + 1] from 0 on */
  const int32_t *place;  /* of each column in the order of all nodes; NULL: all columns are these rows or,
                            where  these ascend, columns are places */
};

/* What the rows of each shard are: arcs that lead out of it, rows that it receives, non-zeros. */
struct order_counts {
  int64_t cut;
  int64_t *halo, *nnz; /* [parts] */
};

/* Counts the cells of these shards, self loops left out; rows and cols become the sums of them. Of windows of
 * up to twice the mean of arcs only every `step`-th is looked at, and counted `step` times. density: NULL:
 * not wanted; counts likewise. */
int order_rate(const struct graph *graph, struct order_view view, int64_t step, struct density *density,
               struct order_counts *counts);

/* The step at which about so many windows are looked at: windows of a whole graph differ little, and a few
 * thousand speak for it; RATE_WINDOWS for a figure to keep. */
enum { RATE_WINDOWS = 4096 };
int64_t order_rate_step(int64_t nodes, int64_t windows);

/* Computing intensity of all windows of 16 rows together: arcs over different columns (Li et al., HC-SpMM,
 * ICDE 2025). */
int order_intensity(const struct graph *graph, struct order_view view, double *intensity);

#endif
