/* cosine: y_v = sum_u a_vu x_u, a_vu = softmax over the row of beta cos(x_v, x_u), with exactly one self loop
 * a node (Thekumparampil et al. 2018).
 *
 * Forward, the halo carries x and 1 / |x|; backward also the gradient of y and two numbers (struct
 * cosine_rows). A gradient comes to a node by arcs into it and out of it: in a symmetric graph the same pass
 * sees both. COSINE           in: x; out: y, log_sum; and between its ops messages, sums of rows between two
 * parts COSINE_BACKWARD  in: dy, x, y, log_sum, a part of dx; out: dx; and, between its ops, messages, sums
 * of the gradients with respect to x and to x / |x|, gradients of beta */
#include "kernels/ops/attention.h"
#include "kernels/ops/elementwise.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

struct arcs {
  const struct pass *pass;
  const struct step *step;
  const struct epilogue *epilogue;
  int ways; /* backward */
};

static const void *beta_of(const struct pass *pass, const struct step *step) {
  return parameter_value(pass->parameters, pass->run, step->parameter[0]).data;
}

static int attend_part(struct run *run, const struct direction *d, struct tensor message, int halo,
                       void *context) {
  const struct arcs *arcs = context;
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  struct cosine_attention op = {.a = halo ? d->halo_part : d->own_part,
                                .message = message,
                                .rows = tensor_out(pass, step, 2),
                                .beta = beta_of(pass, step),
                                .self = !halo,
                                .accumulate = halo,
                                .has_halo = rule_has_halo(run, d, halo),
                                .log_sum = tensor_out(pass, step, 1),
                                .sums = tensor_out(pass, step, 3),
                                .y = tensor_out(pass, step, 0),
                                .epilogue = arcs->epilogue};
  return op_cosine_attention(run->kernels, &op);
}

int run_cosine(const struct pass *pass, const struct step *step) {
  struct propagation *p = pass->propagation;
  struct epilogue epilogue;
  struct cosine_rows rows = {.x = tensor_in(pass, step, 0), .message = tensor_out(pass, step, 2)};
  struct arcs arcs = {pass, step, rule_epilogue(pass, step, &epilogue), 0};
  TRY(op_cosine_rows(pass->run->kernels, &rows));
  return propagate_parts(p, pass->run, &p->forward, rows.message, attend_part, &arcs);
}

static int gather_part(struct run *run, const struct direction *d, struct tensor message, int halo,
                       void *context) {
  const struct arcs *arcs = context;
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  struct cosine_backward op = {.a = halo ? d->halo_part : d->own_part,
                               .arcs = arcs->ways,
                               .message = message,
                               .rows = tensor_out(pass, step, 1),
                               .beta = beta_of(pass, step),
                               .self = !halo,
                               .accumulate = halo || arcs->ways == COSINE_OUT,
                               .dx = tensor_out(pass, step, 2),
                               .dn = tensor_out(pass, step, 3),
                               .beta_grad = tensor_out(pass, step, 4)};
  return op_cosine_backward(run->kernels, &op);
}

/* A directed graph has its arcs in and out in two shards: two passes, of which the first needs x alone. */
static int gather_both_ways(const struct pass *pass, const struct step *step, struct tensor message) {
  struct propagation *p = pass->propagation;
  struct run *run = pass->run;
  struct arcs in = {pass, step, NULL, COSINE_IN}, out = {pass, step, NULL, COSINE_OUT};
  struct arcs both = {pass, step, NULL, COSINE_IN | COSINE_OUT};
  if (p->backward.borrowed) return propagate_parts(p, run, &p->backward, message, gather_part, &both);
  const int64_t width = tensor_in(pass, step, 1).cols;
  struct tensor first = tensor_columns(message, 0, cosine_message_cols(run->kernels, width, 0));
  TRY(propagate_parts(p, run, &p->forward, first, gather_part, &in));
  return propagate_parts(p, run, &p->backward, message, gather_part, &out);
}

int run_cosine_backward(const struct pass *pass, const struct step *step) {
  struct kernels *k = pass->run->kernels;
  struct cosine_rows rows = {.x = tensor_in(pass, step, 1),
                             .dz = tensor_in(pass, step, 0),
                             .y = tensor_in(pass, step, 2),
                             .log_sum = tensor_in(pass, step, 3),
                             .message = tensor_out(pass, step, 1)};
  struct tensor beta = parameter_gradient(pass->parameters, pass->run, step->parameter[0]);
  struct column_sums sums = {.x = tensor_out(pass, step, 4), .out = beta.data};
  struct cosine_epilogue epilogue = {.message = rows.message,
                                     .dx = tensor_out(pass, step, 2),
                                     .dn = tensor_out(pass, step, 3),
                                     .residual = tensor_in(pass, step, 4),
                                     .y = tensor_out(pass, step, 0)};
  TRY(op_cosine_rows(k, &rows));
  TRY(gather_both_ways(pass, step, rows.message));
  if (!step->fixed) TRY(op_column_sums(k, &sums));
  return op_cosine_epilogue(k, &epilogue);
}
