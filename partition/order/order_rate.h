/* order_rate: how densely an order packs the arcs of its shards: arcs counted by cells of 128 rows and 64
 * columns, columns numbered as shards number them, own nodes first and then the halo by owner. */
#ifndef PARTITION_ORDER_ORDER_RATE_H
#define PARTITION_ORDER_ORDER_RATE_H

#include "kernels/cost/cost_model.h"
#include "partition/graph/partition.h"

/* An order of the nodes of some shards: those of shard p are order[offset[p] .. offset[p + 1]); NULL: their
 * ids ascend over all of them. */
struct order_view {
  int parts;
  int64_t nodes;
  const int64_t *order, *offset;
};
static inline struct order_view order_view_of(const struct partition *partition) {
  return (struct order_view){partition->parts, partition->nodes, partition->order, partition->offset};
}

/* Counts the cells of all shards, self loops left out; cols becomes the mean of a shard. Of windows
 * of up to twice the mean of arcs only every `step`-th is looked at, and counted `step` times. */
int order_rate(const struct graph *graph, struct order_view view, int64_t step, struct density *density);

/* The same of shard p alone, of which the graph holds the rows; halo: rows that it receives. */
int order_rate_part(const struct graph *graph, struct order_view view, int p, int64_t step,
                    struct density *density, int64_t *halo);

/* The step at which about so many windows are looked at: windows of a whole graph differ little, and a few
 * thousand speak for it; RATE_WINDOWS for a figure to keep. */
enum { RATE_WINDOWS = 4096 };
int64_t order_rate_step(int64_t nodes, int64_t windows);

/* Computing intensity of all windows of 16 rows together: arcs over different columns (Li et al., HC-SpMM,
 * ICDE 2025). */
int order_intensity(const struct graph *graph, struct order_view view, double *intensity);

#endif
