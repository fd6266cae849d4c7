#include "models/core/propagation/propagate.h"

#include <assert.h>

#include "kernels/ops/elementwise.h"
#include "models/core/propagation/graph_sums.h"
#include "models/core/propagation/grid_sums.h"
#include "models/core/propagation/hyper.h"
#include "runtime/base/base.h"

int propagation_init(struct propagation *p, struct run *run, int64_t width) {
  p->ops = p->adjacency_norm >= ADJACENCY_NORM_HYPER_SUM ? &hyper_propagation
           : run->directory->grid.cols > 1               ? &grid_propagation
                                                         : &graph_propagation;
  return p->ops->init(p, run, width);
}

int propagation_plan(struct propagation *p, struct run *run, struct arena *arena, int64_t width) {
  return p->ops->plan(p, run, arena, width);
}

/* Rows go to other ranks in several ways. */
static void say_reach(const struct propagation *p, const struct run *run) {
  int near = 0;
  for (int r = 0; p->exchange.reach.at && r < run->comm->size; r++) near += p->exchange.reach.at[r] != NULL;
  if (run->comm->size == 1 || run->comm->lone) return;
  if (!run->device->ops->on_host)
    log_detail("exchange: rank 0 stores rows into the memory of %d ranks and sends messages to %d", near,
               run->comm->size - 1 - near);
  if (run->shard->in.halo.relay)
    log_detail("exchange: a row goes to another host once, and on from there to the ranks that need it");
}

int propagation_start(struct propagation *p, struct run *run, void *block) {
  if (run->config->runtime.exchange == EXCHANGE_AUTO)
    TRY(comm_reach_open(run->comm, block, &p->exchange.reach));
  say_reach(p, run);
  return p->ops->start(p, run);
}

int64_t propagation_workspace(const struct propagation *p, const struct run *run, int64_t width,
                              int message) {
  return p->ops->workspace(p, run, width, message);
}

void propagation_free(struct propagation *p, struct run *run) {
  if (p->ops) p->ops->free(p, run);
  comm_reach_close(run->comm, &p->exchange.reach);
  *p = (struct propagation){0};
}

int propagation_takes_loss(const struct propagation *p) {
  return p->ops == &graph_propagation;
}

int propagate(struct propagation *p, struct run *run, const struct direction *d, struct tensor x,
              const struct propagate_ends *ends, struct tensor y) {
  struct propagate_ends along = *ends;
  assert(p->ops != &hyper_propagation || !ends->added.data);
  if (ends->below && !(p->ops == &graph_propagation && op_spmm_takes_epilogue(ends->below)))
    along.below = NULL;
  TRY(p->ops->multiply(p, run, d, x, &along, y));
  return along.below == ends->below ? OK : op_epilogue_backward(run->kernels, ends->below);
}
