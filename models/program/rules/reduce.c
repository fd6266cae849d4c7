/* reduce: y_v = max over the neighbours u of x_u, element by element (Hamilton, Ying and Leskovec 2017,
 * pooling), or their min, as model.aggregator says. A node without neighbours has 0; of equal values that of
 * the lowest node id counts in the gradient.
 *
 * Forward, the halo carries x; backward the gradient of y and the ids of those who won, side by side in a
 * message. REDUCE           in: x; out: y, the message with the winners REDUCE_BACKWARD  in: dy, which lies
 * in the message, and the message; out: dx */
#include "kernels/ops/reduce.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

/* Behind the gradient's columns, the gap behind these included. */
static struct winners winners_in(struct tensor message, int64_t width) {
  struct tensor words = tensor_columns(message, tensor_stride(message.dtype, width), 0);
  return (struct winners){words.data, message.stride * dtype_bytes(message.dtype) / (int64_t)sizeof(int32_t)};
}

/* Where rows that are not finished keep their sums; y itself where it is real. */
static struct tensor sums_of(const struct pass *pass, struct tensor y) {
  struct tensor sums = pass->propagation->sums;
  return y.dtype == pass->run->kernels->real || !sums.data
             ? (struct tensor){0}
             : tensor_rows(tensor_narrowed(sums, y.cols), 0, y.rows);
}

static int reduce_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  const int smallest = pass->run->config->model.aggregator == AGGREGATOR_MIN;
  struct tensor y = tensor_out(pass, arcs->step, 0);
  struct reduce op = {.a = arcs->a,
                      .reducer = smallest ? REDUCER_MIN : REDUCER_MAX,
                      .x = arcs->x,
                      .col_id = arcs->col_id,
                      .id = pass->id,
                      .has_halo = arcs->has_halo,
                      .accumulate = arcs->halo,
                      .sums = sums_of(pass, y),
                      .y = y,
                      .winner = winners_in(tensor_out(pass, arcs->step, 1), y.cols)};
  if (!arcs->halo) op.self_scale = pass->propagation->self, op.self = tensor_rows(op.x, 0, y.rows);
  return op_reduce(pass->run->kernels, &op);
}

int run_reduce(const struct pass *pass, const struct step *step) {
  struct arcs arcs = {.pass = pass, .step = step, .part = reduce_part};
  return rule_arcs(arcs, rule_direction(pass, step, 0), rule_columns(pass, step, 0));
}

static int give_back_part(const struct arcs *arcs) {
  const struct pass *pass = arcs->pass;
  struct tensor dx = tensor_out(pass, arcs->step, 0);
  struct reduce_backward op = {.a = arcs->a,
                               .dy = tensor_columns(arcs->x, 0, dx.cols),
                               .winner = winners_in(arcs->x, dx.cols),
                               .id = pass->id,
                               .has_halo = arcs->has_halo,
                               .accumulate = arcs->halo,
                               .sums = sums_of(pass, dx),
                               .dx = dx};
  if (!arcs->halo && pass->propagation->self)
    op.self = tensor_rows(op.dy, 0, dx.rows), op.self_winner = op.winner;
  return op_reduce_backward(pass->run->kernels, &op);
}

int run_reduce_backward(const struct pass *pass, const struct step *step) {
  struct arcs arcs = {.pass = pass, .step = step, .part = give_back_part};
  return rule_arcs(arcs, rule_direction(pass, step, 1), rule_columns(pass, step, 1));
}
