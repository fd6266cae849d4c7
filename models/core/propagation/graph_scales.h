/* graph_scales: s, r and c of P = diag(r) (A + diag(s)) diag(c), from the degrees of a shard. */
#ifndef MODELS_CORE_PROPAGATION_GRAPH_SCALES_H
#define MODELS_CORE_PROPAGATION_GRAPH_SCALES_H

#include "models/core/propagation/propagation.h"

/* Whether every node has a self loop, stored or not; then it is among the arcs. */
int graph_scales_add_loops(const struct propagation *p);

/* Rows of P: own ones, in a grid those of its row. */
int64_t graph_scales_rows(const struct propagation *p, const struct run *run);

/* Lays them out; fills them once the arena is there. Errors: BAD_INPUT where a weight that divides is below
 * 0. */
void graph_scales_plan(struct propagation *p, struct run *run, struct arena *arena);
int graph_scales_start(struct propagation *p, struct run *run);

/* s_v = what is stored + loop + *more (real, on the device). */
int propagation_set_loop(struct propagation *p, struct run *run, const void *more);

#endif
