/* graph_sums: P of a graph. The halo is exchanged while the own-column part is computed; rows with halo
 * columns finish in the second part. */
#ifndef MODELS_CORE_GRAPH_SUMS_H
#define MODELS_CORE_GRAPH_SUMS_H

#include "models/core/propagation.h"

/* What propagate.h does where P is of a graph. */
extern const struct propagation_ops graph_propagation;

/* s_v = what is stored + loop + *more (real, on the device). */
int propagation_set_loop(struct propagation *p, struct run *run, const void *more);

/* How sums end: what is added to them past the row scale (data NULL: nothing), then one of the two, or none.
 */
struct sums_epilogue {
  struct tensor added;
  const struct epilogue *epilogue;
  const struct epilogue_backward *below;
};

/* y = diag(r) (A + diag(s)) diag(scale) x, and its epilogue. scale: NULL: 1. */
int graph_sums_add(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                   const void *scale, const struct sums_epilogue *epilogue, struct tensor y);

#endif
