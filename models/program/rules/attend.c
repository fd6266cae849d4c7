/* attend: y_v = sum_u a_vu x_u in each of several heads, a_vu = softmax over the row of LeakyReLU_.2(l . x_u
 * + r . x_v), with exactly one self loop a node (Velickovic et al. 2018), x the product H W.
 *
 * Forward, the halo carries x and l . x. Backward it carries the gradient of y and three numbers a head from
 * which the coefficients follow (struct attention_rows). ATTEND           in: x | l . x, x; out: y, the
 * heads' mean, r . x, positive, share, log_sum; and sums of rows between two parts ATTEND_BACKWARD  in: dy, x
 * | l . x, r . x, positive, share, log_sum, y; out: dx; and, between its ops, messages, gradients of l . x
 * and of r . x, sums of rows between two parts */
#include "kernels/ops/attention.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

static struct tensor left_of(const struct pass *pass, struct tensor message, const struct step *step) {
  const int64_t width = (int64_t)step->heads * step->width;
  return tensor_reals(pass->run->kernels, message, message_elements(pass->run->kernels, width), step->heads);
}

static struct tensor parameter_of(const struct pass *pass, const struct step *step, int i) {
  return parameter_value(pass->parameters, pass->run, step->parameter[i]);
}

struct dropout rule_attention_dropout(const struct pass *pass, int layer) {
  struct philox_key key = run_key(pass->run, layer, RANDOM_DROPOUT_ATTENTION);
  return dropout_of(pass->training ? pass->run->config->model.dropout_attention : 0, key, pass->id);
}

static int attend_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  const int64_t width = (int64_t)step->heads * step->width;
  struct attention op = {.a = arcs->a,
                         .heads = step->heads,
                         .x = tensor_columns(arcs->x, 0, width),
                         .term = left_of(pass, arcs->x, step),
                         .row_term = tensor_out(pass, step, 2),
                         .dropout = rule_attention_dropout(pass, step->layer),
                         .col_id = arcs->col_id,
                         .has_halo = arcs->has_halo,
                         .accumulate = arcs->halo,
                         .log_sum = tensor_out(pass, step, 5),
                         .sums = tensor_out(pass, step, 6),
                         .y = tensor_out(pass, step, 0),
                         .mean = tensor_out(pass, step, 1),
                         .epilogue = arcs->epilogue};
  if (arcs->far.data) {
    op.far.x = tensor_columns(arcs->far, 0, width);
    op.far.term = left_of(pass, arcs->far, step);
  }
  if (!arcs->halo)
    op.self.x = tensor_rows(op.x, 0, op.y.rows), op.self.term = tensor_rows(op.term, 0, op.y.rows);
  if (pass->training) op.positive = tensor_out(pass, step, 3), op.share = tensor_out(pass, step, 4);
  return op_attention(pass->run->kernels, &op);
}

int run_attend(const struct pass *pass, const struct step *step) {
  struct epilogue epilogue;
  struct tensor message = rule_columns(pass, step, 0);
  struct attention_terms terms = {.x = rule_columns(pass, step, 1),
                                  .l = parameter_of(pass, step, 0),
                                  .r = parameter_of(pass, step, 1),
                                  .left = left_of(pass, message, step),
                                  .right = rule_columns_out(pass, step, 2)};
  struct arcs arcs = {
      .pass = pass, .step = step, .part = attend_part, .epilogue = rule_epilogue(pass, step, &epilogue)};
  TRY(op_attention_terms(pass->run->kernels, &terms));
  return rule_arcs(arcs, rule_direction(pass, step, 0), message);
}

static int gather_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const struct step *step = arcs->step;
  struct tensor x = tensor_in(pass, step, 1);
  struct attention_backward op = {.a = arcs->a,
                                  .heads = step->heads,
                                  .message = arcs->x,
                                  .far = arcs->far,
                                  .out = tensor_in(pass, step, 0).cols,
                                  .x = tensor_columns(x, 0, (int64_t)step->heads * step->width),
                                  .term = left_of(pass, x, step),
                                  .dropout = rule_attention_dropout(pass, step->layer),
                                  .col_id = arcs->col_id,
                                  .accumulate = arcs->halo,
                                  .has_halo = arcs->has_halo,
                                  .l = parameter_of(pass, step, 0),
                                  .r = parameter_of(pass, step, 1),
                                  .row_term_grad = tensor_out(pass, step, 3),
                                  .sums = tensor_out(pass, step, 4),
                                  .dx = tensor_out(pass, step, 0),
                                  .term_grad = tensor_out(pass, step, 2)};
  if (!arcs->halo) op.self = arcs->x;
  return op_attention_backward(pass->run->kernels, &op);
}

/* Gradients of x through values and terms, over all arcs of this rank's nodes; then those of l and r. */
int run_attend_backward(const struct pass *pass, const struct step *step) {
  const struct parameters *parameters = pass->parameters;
  struct attention_rows rows = {.heads = step->heads,
                                .dz = rule_columns(pass, step, 0),
                                .row_term = rule_columns(pass, step, 2),
                                .log_sum = rule_columns(pass, step, 5),
                                .share = rule_columns(pass, step, 4),
                                .y = rule_columns(pass, step, 6),
                                .positive = rule_columns(pass, step, 3),
                                .message = rule_columns_out(pass, step, 1),
                                .row_term_grad = rule_columns_out(pass, step, 3)};
  struct attention_terms_backward terms = {
      .x = tensor_columns(tensor_in(pass, step, 1), 0, (int64_t)step->heads * step->width),
      .left_grad = tensor_out(pass, step, 2),
      .right_grad = tensor_out(pass, step, 3),
      .l_grad = parameter_gradient(parameters, pass->run, step->parameter[0]),
      .r_grad = parameter_gradient(parameters, pass->run, step->parameter[1])};
  TRY(op_attention_rows(pass->run->kernels, &rows));
  TRY(rule_clear_rows(pass, step, 3)); /* rows without a gradient of their own */
  TRY(rule_arcs((struct arcs){.pass = pass, .step = step, .part = gather_part}, rule_direction(pass, step, 1),
                rows.message));
  return op_attention_terms_backward(pass->run->kernels, &terms);
}
