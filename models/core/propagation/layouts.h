/* layouts: which tiers the sparse products of a run go through, and what they took beside what was predicted.
 */
#ifndef MODELS_CORE_PROPAGATION_LAYOUTS_H
#define MODELS_CORE_PROPAGATION_LAYOUTS_H

#include "models/core/propagation/propagate.h"

/* Collective. After a profiled run: a row for the own and the halo part of the adjacency, forward and
 * backward together, sums and means over the ranks: arcs, their share in tiles, density of these, share in
 * condensed windows (and blocks before and after condensation), bytes an arc on the device, mean width of the
 * products, ms of one as predicted (kernels/cost/cost_model.h) and as measured. Nothing where no product was
 * recorded. Products of the rows of a level (struct direction_level) are not among them.
 */
int layouts_print(const struct propagation *propagation, const struct run *run);

/* Of a model that attends, with --verbose, on rank 0: what share of its arcs attention has on tensor cores,
 * and in how many tiles or blocks of column vectors. */
void layouts_say_attention(const struct propagation *propagation, const struct run *run);

#endif
