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
  struct cosine_rows rows = {.x = rule_columns(pass, step, 0), .message = rule_columns_out(pass, step, 2)};
  struct arcs arcs = {
      .pass = pass, .step = step, .part = attend_part, .epilogue = rule_epilogue(pass, step, &epilogue)};
  TRY(op_cosine_rows(pass->run->kernels, &rows));
  return rule_arcs(arcs, rule_direction(pass, step, 0), rows.message);
}

static int gather_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  const int64_t rows = arcs->way == COSINE_IN ? rule_columns(pass, step, 0).rows
                                              : tensor_out(pass, step, 0).rows;
  struct cosine_backward op = {.a = arcs->a,
                               .arcs = arcs->way,
                               .message = arcs->x,
                               .rows = tensor_rows(tensor_out(pass, step, 1), 0, rows),
                               .beta = beta_of(pass, step),
                               .selves = arcs->halo ? 0 : rule_columns(pass, step, 0).rows,
                               .accumulate = arcs->halo || arcs->way == COSINE_OUT,
                               .dx = tensor_rows(tensor_out(pass, step, 2), 0, rows),
                               .dn = tensor_rows(tensor_out(pass, step, 3), 0, rows),
                               .beta_grad = tensor_rows(tensor_out(pass, step, 4), 0, rows)};
  return op_cosine_backward(pass->run->kernels, &op);
}

/* The part of messages that does not depend on a gradient, of rows that have none of their own, too. */
static struct tensor forward_part(const struct pass *pass, const struct step *step, struct tensor message) {
  const int64_t width = tensor_in(pass, step, 1).cols;
  return tensor_columns(message, 0, cosine_message_cols(pass->run->kernels, width, 0));
}

/* A directed graph, or one of which some rows are needed, has its arcs in and out in two shards: two passes,
 * of which the first needs x alone. */
static int gather_both_ways(const struct pass *pass, const struct step *step, struct tensor message) {
  const struct direction *back = rule_direction(pass, step, 1);
  struct arcs arcs = {.pass = pass, .step = step, .part = gather_part, .way = COSINE_IN | COSINE_OUT};
  if (back->borrowed) return rule_arcs(arcs, back, message);
  arcs.way = COSINE_IN;
  for (int i = 2; i < 5; i++) TRY(rule_clear_rows(pass, step, i));
  TRY(rule_arcs(arcs, rule_direction(pass, step, 0), forward_part(pass, step, tensor_out(pass, step, 1))));
  arcs.way = COSINE_OUT;
  return rule_arcs(arcs, back, message);
}

/* Messages of the rows behind those that have a gradient. */
static int write_further_rows(const struct pass *pass, const struct step *step, int64_t first) {
  const struct tensor x = tensor_in(pass, step, 1), all = forward_part(pass, step, tensor_out(pass, step, 1));
  const struct cosine_rows rows = {.x = tensor_rows(x, first, x.rows - first),
                                   .message = tensor_rows(all, first, x.rows - first)};
  return first < x.rows ? op_cosine_rows(pass->run->kernels, &rows) : OK;
}

int run_cosine_backward(const struct pass *pass, const struct step *step) {
  struct kernels *k = pass->run->kernels;
  const struct tensor dz = rule_columns(pass, step, 0), message = tensor_out(pass, step, 1);
  struct cosine_rows rows = {.x = tensor_rows(tensor_in(pass, step, 1), 0, dz.rows),
                             .dz = dz,
                             .y = rule_columns(pass, step, 2),
                             .log_sum = rule_columns(pass, step, 3),
                             .message = tensor_rows(message, 0, dz.rows)};
  struct tensor beta = parameter_gradient(pass->parameters, pass->run, step->parameter[0]);
  struct column_sums sums = {.x = tensor_out(pass, step, 4), .out = beta.data};
  struct cosine_epilogue epilogue = {.message = message,
                                     .dx = tensor_out(pass, step, 2),
                                     .dn = tensor_out(pass, step, 3),
                                     .residual = tensor_in(pass, step, 4),
                                     .y = tensor_out(pass, step, 0)};
  TRY(op_cosine_rows(k, &rows));
  TRY(write_further_rows(pass, step, dz.rows));
  TRY(gather_both_ways(pass, step, rows.message));
  if (!step->fixed) TRY(op_column_sums(k, &sums));
  return op_cosine_epilogue(k, &epilogue);
}
