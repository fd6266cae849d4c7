/* graph_sums: P of a graph. The halo is exchanged while the own-column part is computed; rows with halo
 * columns finish in the second part. */
#ifndef MODELS_CORE_PROPAGATION_GRAPH_SUMS_H
#define MODELS_CORE_PROPAGATION_GRAPH_SUMS_H

#include "kernels/ops/sparse.h"
#include "models/core/propagation/propagation.h"

/* What propagate.h does where P is of a graph; and its parts (struct propagation_ops), for grid_sums.h. */
extern const struct propagation_ops graph_propagation;
int graph_sums_init(struct propagation *p, struct run *run, int64_t width);
int graph_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
int graph_sums_start(struct propagation *p, struct run *run);
int64_t graph_sums_workspace(const struct propagation *p, const struct run *run, int64_t width, int message);
void graph_sums_free(struct propagation *p, struct run *run);
int graph_sums_multiply(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                        const struct propagate_ends *ends, struct tensor y);

/* A part of P, its columns those of own rows or of a stage of the halo. */
struct propagation_columns {
  const struct layout *a;
  struct tensor x;         /* the message's rows, or the halo's, of these columns */
  int halo;                /* adds to what other parts have summed */
  int64_t first;           /* of halo rows, the one of the first column */
  const uint8_t *has_halo; /* rows to which another part adds; NULL: none */
};

/* The way of P x and of other work of that kind: the rows `message` [own, w] of all ranks' nodes in parts,
 * own rows first, then those of each stage of the halo that there are, once they have landed. The halo's come
 * times `scale`, real [own] of the rows that are sent; NULL: 1. Late rows are summed whole in between: what
 * tensor cores multiply of them while the halo is under way (SPMM_AHEAD), and the rest from `message` and
 * from what has landed, `tail` [halo rows, w]. */
typedef int propagation_part(struct run *run, const struct direction *direction,
                             const struct propagation_columns *columns, void *context);
typedef int propagation_late(struct run *run, const struct direction *direction, struct tensor message,
                             struct tensor tail, enum spmm_phase phase, void *context);
int propagate_parts(struct propagation *p, struct run *run, const struct direction *direction,
                    struct tensor message, const void *scale, propagation_part *part, propagation_late *late,
                    void *context);

#endif
