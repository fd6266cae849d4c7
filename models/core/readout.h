/* readout: what the nodes of a graph become, where labels are of graphs: their sum, mean or largest value,
 * column by column (Xu et al. 2019). It stands in the row of a graph's first node; other rows are 0. Parts
 * leave graphs whole, so that no rank needs another one's rows. */
#ifndef MODELS_CORE_READOUT_H
#define MODELS_CORE_READOUT_H

#include "kernels/ops/ops.h"
#include "models/core/run.h"
#include "runtime/device/arena.h"

struct readout {
  struct csr members, graph; /* [own, own]: a first node's row lists the nodes of its graph; its transpose */
  struct layout *forward, *backward;
  void *scale; /* real [own]: one over the size of the graph, in the row of its first node; of the mean */
};

/* In three steps, as a propagation (propagate.h). Nothing happens where labels are of nodes. */
int readout_init(struct readout *readout, struct run *run);
void readout_plan(struct readout *readout, struct run *run, struct arena *arena);
int readout_start(struct readout *readout, struct run *run);
void readout_free(struct readout *readout, struct run *run);
/* Bytes of the kernels' scratch at that width. */
int64_t readout_workspace(const struct readout *readout, const struct run *run, int64_t width);

/* Columns of a value that remembers which node the largest value comes from; 0: nothing is to be remembered.
 */
int64_t readout_winner_cols(const struct run *run, int64_t width);

/* y [own, width] of x [own, width]; and the gradient dx of x, from that of y, plus `added` of the same shape,
 * not in dx's memory (data NULL: none). id: global ids of own nodes on the device. winner: of that many
 * columns; data NULL: none. */
int readout_forward(const struct readout *readout, struct run *run, const int64_t *id, struct tensor x,
                    struct tensor y, struct tensor winner);
int readout_backward(const struct readout *readout, struct run *run, const int64_t *id, struct tensor dy,
                     struct tensor winner, struct tensor added, struct tensor dx);

#endif
