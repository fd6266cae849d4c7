/* dynamic: y_v = sum_u a_vu x_u in each of several heads, a_vu = softmax over the row of a . LeakyReLU_.2(x_u
 * + r_v), with exactly one self loop a node (Brody et al. 2022); x and r are two products of the layer's
 * input.
 *
 * Forward, the halo carries x. Backward it carries x once more, for the gradient of r over the arcs into a
 * node, and then what that of x over the arcs out of it needs (struct dynamic_rows).
 * DYNAMIC           in: x, r; out: y, the heads' mean, log_sum, sums of rows between two parts
 * DYNAMIC_BACKWARD  in: dy, x, r, log_sum, y; out: dx, dr; and, between its ops, messages, what adds up to
 * the gradient of a, sums of rows between two parts */
#include "kernels/ops/attention.h"
#include "kernels/ops/elementwise.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

/* a is one row, of heads side by side, as column_sums gives its gradient. */
static struct tensor score_of(const struct pass *pass, const struct step *step) {
  struct tensor a = parameter_value(pass->parameters, pass->run, step->parameter[0]);
  return (struct tensor){a.data, a.dtype, step->heads, step->width, step->width};
}

static int attend_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  struct attention op = {.a = arcs->a,
                         .heads = step->heads,
                         .x = arcs->x,
                         .right = tensor_in(pass, step, 1),
                         .score = score_of(pass, step),
                         .dropout = rule_attention_dropout(pass, step->layer),
                         .col_id = arcs->col_id,
                         .has_halo = arcs->has_halo,
                         .accumulate = arcs->halo,
                         .log_sum = tensor_out(pass, step, 2),
                         .sums = tensor_out(pass, step, 3),
                         .y = tensor_out(pass, step, 0),
                         .mean = tensor_out(pass, step, 1),
                         .epilogue = arcs->epilogue};
  if (!arcs->halo) op.self.x = tensor_rows(op.x, 0, op.y.rows);
  return op_attention(pass->run->kernels, &op);
}

int run_dynamic(const struct pass *pass, const struct step *step) {
  struct epilogue epilogue;
  struct arcs arcs = {
      .pass = pass, .step = step, .part = attend_part, .epilogue = rule_epilogue(pass, step, &epilogue)};
  return rule_arcs(arcs, rule_direction(pass, step, 0), rule_columns(pass, step, 0));
}

/* arcs->x: x, or messages, of the columns; the other of the two is of the rows. */
static int gather_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  const int in = arcs->way == DYNAMIC_IN;
  const struct tensor message = rule_columns_out(pass, step, 2),
                      products = in ? rule_columns_out(pass, step, 3) : tensor_out(pass, step, 3),
                      sums = in ? rule_columns_out(pass, step, 4) : tensor_out(pass, step, 4);
  struct dynamic_backward op = {.a = arcs->a,
                                .way = arcs->way,
                                .heads = step->heads,
                                .out = rule_columns(pass, step, 0).cols,
                                .x = in ? arcs->x : tensor_in(pass, step, 1),
                                .message = in ? message : arcs->x,
                                .score = score_of(pass, step),
                                .selves = arcs->halo ? 0 : message.rows,
                                .dropout = rule_attention_dropout(pass, step->layer),
                                .col_id = arcs->col_id,
                                .accumulate = arcs->halo,
                                .has_halo = arcs->has_halo,
                                .sums = sums,
                                .grad = in ? rule_columns_out(pass, step, 1) : tensor_out(pass, step, 0),
                                .products = products};
  return op_dynamic_backward(pass->run->kernels, &op);
}

int run_dynamic_backward(const struct pass *pass, const struct step *step) {
  struct kernels *k = pass->run->kernels;
  struct arcs in = {.pass = pass, .step = step, .part = gather_part, .way = DYNAMIC_IN},
              out = {.pass = pass, .step = step, .part = gather_part, .way = DYNAMIC_OUT};
  struct dynamic_rows rows = {.heads = step->heads,
                              .dz = rule_columns(pass, step, 0),
                              .right = rule_columns(pass, step, 2),
                              .y = rule_columns(pass, step, 4),
                              .log_sum = rule_columns(pass, step, 3),
                              .message = rule_columns_out(pass, step, 2)};
  struct column_sums sums = {.x = tensor_out(pass, step, 3), .out = rule_gradient(pass, step->parameter[0])};
  TRY(op_dynamic_rows(k, &rows));
  TRY(rule_clear_rows(pass, step, 3)); /* products of rows without a gradient of their own */
  TRY(rule_arcs(in, rule_direction(pass, step, 0), tensor_in(pass, step, 1)));
  TRY(rule_arcs(out, rule_direction(pass, step, 1), rows.message));
  return op_column_sums(k, &sums);
}
