/* graph_sums: P of a graph. The halo is exchanged while the own-column part is computed; rows with halo
 * columns finish in the second part. */
#ifndef MODELS_CORE_GRAPH_SUMS_H
#define MODELS_CORE_GRAPH_SUMS_H

#include "kernels/ops/sparse.h"
#include "models/core/propagation.h"

/* What propagate.h does where P is of a graph; and its parts (struct propagation_ops), for grid_sums.h. */
extern const struct propagation_ops graph_propagation;
int graph_sums_init(struct propagation *p, struct run *run, int64_t width);
int graph_sums_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
int graph_sums_start(struct propagation *p, struct run *run);
int64_t graph_sums_workspace(const struct propagation *p, const struct run *run, int64_t width, int message);
void graph_sums_free(struct propagation *p, struct run *run);
int graph_sums_multiply(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                        const struct propagate_ends *ends, struct tensor y);

/* The way of P x and of other work of that kind: the rows `message` [own, w] of all ranks' nodes in two
 * parts, own rows first (halo 0), then the halo's (halo 1) once they have landed; the latter only where there
 * are any. The halo's come times `scale`, real [own] of the rows that are sent; NULL: 1. Late rows are summed
 * whole in between: what tensor cores multiply of them while the halo is under way (SPMM_AHEAD), and the rest
 * from `message` and from what has landed, `tail` [halo rows, w]. */
typedef int propagation_part(struct run *run, const struct direction *direction, struct tensor message,
                             int halo, void *context);
typedef int propagation_late(struct run *run, const struct direction *direction, struct tensor message,
                             struct tensor tail, enum spmm_phase phase, void *context);
int propagate_parts(struct propagation *p, struct run *run, const struct direction *direction,
                    struct tensor message, const void *scale, propagation_part *part, propagation_late *late,
                    void *context);

#endif
