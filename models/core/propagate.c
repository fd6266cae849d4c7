#include "models/core/propagate.h"

#include <assert.h>

#include "kernels/ops/elementwise.h"
#include "models/core/graph_sums.h"
#include "models/core/hyper.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

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

int propagate_parts(struct propagation *p, struct run *run, const struct direction *d, struct tensor message,
                    propagation_part *part, void *context) {
  struct halo *halo = &d->adjacency->halo;
  struct kernels *k = run->kernels;
  int exchange = run->comm->size > 1, overlap = run->config->runtime.overlap;
  struct tensor packed = tensor_packed(tensor_rows(p->packed, 0, halo_send_rows(halo)), message.cols);
  struct tensor tail = tensor_packed(tensor_rows(p->tail, 0, halo->rows), message.cols);
  if (exchange) TRY(halo_start(halo, run->comm, k, message, NULL, packed, tail));
  if (exchange && !overlap) TRY(PROFILE("wait", halo_finish(halo, run->comm, k)));
  TRY(PROFILE("own part", part(run, d, message, 0, context)));
  if (exchange && overlap) TRY(PROFILE("wait", halo_finish(halo, run->comm, k)));
  return halo->rows > 0 ? PROFILE("halo part", part(run, d, tail, 1, context)) : OK;
}
