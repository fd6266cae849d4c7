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

static const void *beta_of(const struct pass *pass, const struct step *step) {
  return parameter_value(pass->parameters, pass->run, step->parameter[0]).data;
}

static int attend_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  struct cosine_attention op = {.a = arcs->a,
                                .message = arcs->x,
                                .rows = tensor_out(pass, step, 2),
                                .beta = beta_of(pass, step),
                                .self = !arcs->halo,
                                .accumulate = arcs->halo,
                                .has_halo = arcs->has_halo,
                                .log_sum = tensor_out(pass, step, 1),
                                .sums = tensor_out(pass, step, 3),
                                .y = tensor_out(pass, step, 0),
                                .epilogue = arcs->epilogue};
  return op_cosine_attention(pass->run->kernels, &op);
}

int run_cosine(const struct pass *pass, const struct step *step) {
  struct epilogue epilogue;
  struct cosine_rows rows = {.x = tensor_in(pass, step, 0), .message = tensor_out(pass, step, 2)};
  struct arcs arcs = {
      .pass = pass, .step = step, .part = attend_part, .epilogue = rule_epilogue(pass, step, &epilogue)};
  TRY(op_cosine_rows(pass->run->kernels, &rows));
  return rule_arcs(arcs, &pass->propagation->forward, rows.message);
}

static int gather_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  struct cosine_backward op = {.a = arcs->a,
                               .arcs = arcs->way,
                               .message = arcs->x,
                               .rows = tensor_out(pass, step, 1),
                               .beta = beta_of(pass, step),
                               .self = !arcs->halo,
                               .accumulate = arcs->halo || arcs->way == COSINE_OUT,
                               .dx = tensor_out(pass, step, 2),
                               .dn = tensor_out(pass, step, 3),
                               .beta_grad = tensor_out(pass, step, 4)};
  return op_cosine_backward(pass->run->kernels, &op);
}

/* A directed graph has its arcs in and out in two shards: two passes, of which the first needs x alone. */
static int gather_both_ways(const struct pass *pass, const struct step *step, struct tensor message) {
  const struct propagation *p = pass->propagation;
  struct arcs arcs = {.pass = pass, .step = step, .part = gather_part, .way = COSINE_IN | COSINE_OUT};
  if (p->backward.borrowed) return rule_arcs(arcs, &p->backward, message);
  const int64_t width = tensor_in(pass, step, 1).cols;
  struct tensor first = tensor_columns(message, 0, cosine_message_cols(pass->run->kernels, width, 0));
  arcs.way = COSINE_IN;
  TRY(rule_arcs(arcs, &p->forward, first));
  arcs.way = COSINE_OUT;
  return rule_arcs(arcs, &p->backward, message);
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
