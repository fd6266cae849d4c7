/* aggregate: y = P x, y = P^T x, what is added behind it, and the gradients of what P itself depends on; and
 * other passes over the arcs. */
#include <assert.h>

#include "kernels/ops/elementwise.h"
#include "models/core/propagation/graph_scales.h"
#include "models/core/propagation/hyper.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

/* P is shared: each pass of a layer sets what its own parameter makes of it, and where sums of hyperedges are
 * kept. */
static int set_parameter(const struct pass *pass, const struct step *step) {
  struct propagation *p = pass->propagation;
  const void *value = parameter_value(pass->parameters, pass->run, step->parameter[0]).data;
  if (!p->hyper.trains_weights) return propagation_set_loop(p, pass->run, value);
  p->hyper.kept = rule_tensor(pass, step->out[1]); /* of all hyperedges */
  return hyper_set_weights(p, pass->run, value);
}

const struct direction *rule_direction(const struct pass *pass, const struct step *step, int transposed) {
  const struct propagation *p = pass->propagation;
  const struct step_rows *rows = rule_rows_of(pass, step);
  const int level = rows->level < rows->from ? rows->level : rows->from;
  if (level >= p->levels) return transposed ? &p->backward : &p->forward;
  return transposed ? &p->level[level].backward : &p->level[level].forward;
}

/* With what the head adds in its epilogue: parts of a gradient, gcnii's initial values, the epilogue of a
 * layer. */
int run_aggregate(const struct pass *pass, const struct step *step) {
  struct propagation *p = pass->propagation;
  const struct direction *d = rule_direction(pass, step, step->aggregation.transposed);
  struct epilogue held;
  struct rule_backward below;
  struct tensor y = tensor_out(pass, step, 0), residual = tensor_in(pass, step, 2);
  struct epilogue add = {.z = y, .residual = residual, .y = y};
  struct propagate_ends ends = {.message = step->aggregation.message,
                                .added = tensor_in(pass, step, 1),
                                .epilogue = rule_epilogue(pass, step, &held),
                                .below = rule_backward(pass, step, &below)};
  if (step->aggregation.once) return OK;
  if (step->parameter[0] != NONE) TRY(set_parameter(pass, step));
  if (residual.data && !ends.epilogue) ends.epilogue = &add;
  return propagate(p, pass->run, d, rule_input(pass, step->in[0], rule_rows_of(pass, step)->source), &ends,
                   y);
}

/* d eps = sum of dy times x, element by element. */
int run_loop_grad(const struct pass *pass, const struct step *step) {
  struct tensor grad = parameter_gradient(pass->parameters, pass->run, step->parameter[0]);
  struct dot dot = {.a = tensor_in(pass, step, 0), .b = tensor_in(pass, step, 1), .out = grad.data};
  return op_dot(pass->run->kernels, &dot);
}

/* dW_e = (1 / size) (row e of B^T D_v^-1/2 H W) . (row e of B^T D_v^-1/2 dZ) */
int run_hyperedge_grad(const struct pass *pass, const struct step *step) {
  const struct hyper_sums *hyper = &pass->propagation->hyper;
  struct incidence_weights_backward back = {
      .a = rule_tensor(pass, step->in[0]),
      .b = rule_tensor(pass, step->in[1]),
      .id = hyper->edge_row,
      .scale = hyper->size_scale,
      .grad = parameter_gradient(pass->parameters, pass->run, step->parameter[0]).data,
      .count = pass->run->shard->hyper.edges,
      .hyperedges = pass->run->shard->hyper.hyperedges};
  return op_incidence_weights_backward(pass->run->kernels, &back);
}

static int run_part(struct run *run, const struct direction *d, const struct propagation_columns *columns,
                    void *context) {
  struct arcs *arcs = context;
  (void)run;
  arcs->halo = columns->halo;
  arcs->a = columns->a;
  arcs->x = columns->x;
  arcs->far = (struct tensor){0};
  arcs->col_id = !columns->halo ? arcs->pass->id : d->halo_id ? d->halo_id + columns->first : NULL;
  arcs->has_halo = columns->has_halo;
  return arcs->part(arcs);
}

static int run_late(struct run *run, const struct direction *d, struct tensor x, struct tensor tail,
                    enum spmm_phase phase, void *context) {
  struct arcs *arcs = context;
  (void)run;
  assert(phase == SPMM_REST); /* they have no tiles */
  arcs->halo = 0;
  arcs->a = d->late_part;
  arcs->x = x;
  arcs->far = tail;
  arcs->col_id = d->late_id;
  arcs->has_halo = NULL;
  return arcs->part(arcs);
}

int rule_arcs(struct arcs arcs, const struct direction *d, struct tensor message) {
  return propagate_parts(arcs.pass->propagation, arcs.pass->run, d, message, NULL, run_part, run_late, &arcs);
}
