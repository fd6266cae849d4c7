#include "models/core/propagate.h"

#include <assert.h>

#include "kernels/ops/elementwise.h"
#include "models/core/graph_sums.h"
#include "models/core/hyper.h"
#include "runtime/base/error.h"

int propagation_init(struct propagation *p, struct run *run, int64_t width) {
  p->ops = p->adjacency_norm >= ADJACENCY_NORM_HYPER_SUM ? &hyper_propagation : &graph_propagation;
  return p->ops->init(p, run, width);
}

int propagation_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  return p->ops->plan(p, run, arena, width);
}

int propagation_start(struct propagation *p, struct run *run) {
  return p->ops->start(p, run);
}

int64_t propagation_workspace(const struct propagation *p, const struct run *run, int64_t width,
                              int message) {
  return p->ops->workspace(p, run, width, message);
}

void propagation_free(struct propagation *p, struct run *run) {
  if (p->ops) p->ops->free(p, run);
  *p = (struct propagation){0};
}

int propagate(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
              const struct epilogue *epilogue, struct tensor y) {
  return p->ops->multiply(p, run, d, x, d->col_scale, epilogue, y);
}

int propagation_takes_loss(const struct propagation *p) {
  return p->ops == &graph_propagation;
}

int propagate_and_add(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                      struct tensor added, const struct epilogue *epilogue, struct tensor y) {
  assert(p->ops == &graph_propagation);
  return graph_sums_add(p, run, d, x, d->col_scale,
                        &(struct sums_epilogue){.added = added, .epilogue = epilogue}, y);
}

int propagate_below(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
                    struct tensor added, const struct epilogue_backward *below) {
  int fuses = p->ops == &graph_propagation && op_spmm_takes_epilogue(below);
  struct sums_epilogue epilogue = {.added = added, .below = fuses ? below : NULL};
  assert(p->ops == &graph_propagation || !added.data);
  TRY(p->ops == &graph_propagation ? graph_sums_add(p, run, d, x, d->col_scale, &epilogue, below->dy)
                                   : propagate(p, run, d, x, NULL, below->dy));
  return fuses ? OK : op_epilogue_backward(run->kernels, below);
}

int propagate_message(struct propagation *p, struct run *run, const struct direction *d,
                      struct tensor message, const struct epilogue *epilogue, struct tensor y) {
  return p->ops->multiply(p, run, d, message, NULL, epilogue, y);
}
