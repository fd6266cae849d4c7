/* propagate: H' = P H over all ranks, P = diag(r) (A + diag(s)) diag(c), and its transpose for the backward.
 *
 * What r, s and c are is a matter of the model (enum adjacency_norm). The halo is exchanged while the
 * own-column part is computed; rows with halo columns finish in the second part. P^T = diag(c) (A^T +
 * diag(s)) diag(r): for a symmetric graph the same layouts and the same plan. */
#ifndef MODELS_CORE_PROPAGATION_PROPAGATE_H
#define MODELS_CORE_PROPAGATION_PROPAGATE_H

#include "models/core/propagation/propagation.h"

/* In three steps: init builds the layouts, for products of `width` columns; plan lays out the buffers for
 * exchanges up to `width` (once to measure, once over memory, see arena); start fills the scales and, where
 * ranks reach each other's memory, tells them where rows land: block is what the arena allocated. start is
 * collective, free where start was. Errors: BAD_INPUT for negative weights under a normalisation. */
int propagation_init(struct propagation *p, struct run *run, int64_t width);
int propagation_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width);
int propagation_start(struct propagation *p, struct run *run, void *block);
/* Bytes of the kernels' scratch that propagate asks for at that width; `message`: of a message (struct
 * propagate_ends). */
int64_t propagation_workspace(const struct propagation *p, const struct run *run, int64_t width, int message);
void propagation_free(struct propagation *p, struct run *run);

/* Whether the epilogue of a product with P may have a loss. */
int propagation_takes_loss(const struct propagation *p);

/* y [own, w] = P x (or P^T x), x [own, w], and its ends. */
int propagate(struct propagation *p, struct run *run, const struct direction *direction, struct tensor x,
              const struct propagate_ends *ends, struct tensor y);

#endif
