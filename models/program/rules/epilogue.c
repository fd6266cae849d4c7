/* epilogue: y = dropout(act(norm(z + bias)) + residual), and its gradient. Batch statistics are of all ranks'
 * rows (Ioffe and Szegedy 2015): one pass over them and two all-reduces forward (mean, then squares around
 * it), one all-reduce backward. */
#include <assert.h>

#include "kernels/ops/elementwise.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

static void *value_of(const struct pass *pass, int parameter) {
  return parameter == NONE ? NULL : parameter_value(pass->parameters, pass->run, parameter).data;
}

void *rule_gradient(const struct pass *pass, int parameter) {
  return parameter == NONE ? NULL : parameter_gradient(pass->parameters, pass->run, parameter).data;
}

static struct dropout dropout_of_step(const struct pass *pass, const struct step *step) {
  struct philox_key key = run_key(pass->run, step->layer, RANDOM_DROPOUT_HIDDEN);
  return dropout_of(pass->training ? step->epilogue.dropout : 0, key, pass->id);
}

struct epilogue rule_epilogue_of(const struct pass *pass, const struct step *step) {
  struct epilogue epilogue = {.z = tensor_in(pass, step, 0),
                              .bias = value_of(pass, step->index.bias),
                              .norm = step->epilogue.norm,
                              .gain = value_of(pass, step->index.gain),
                              .shift = value_of(pass, step->index.shift),
                              .epsilon = 1e-5,
                              .activation = step->epilogue.activation,
                              .residual = tensor_in(pass, step, 1),
                              .y = tensor_out(pass, step, 0)};
  if (step->index.norm != NONE) {
    const struct norm_state *norm = &pass->program->norm[step->index.norm];
    epilogue.mean = norm->mean;
    epilogue.rstd = norm->rstd;
  }
  if (pass->training) epilogue.dropout = dropout_of_step(pass, step);
  if (pass->loss && step->out[0] == pass->program->logits) epilogue.loss = pass->loss;
  return epilogue;
}

const void *rule_scale(const struct pass *pass, const struct step *step) {
  const struct propagation *p = pass->propagation;
  if (step->scale == NONE) return NULL;
  assert(pass->chunk.rows == 0); /* a product reads what the steps of chunks write */
  return (pass->program->step[step->scale].aggregation.transposed ? &p->backward : &p->forward)->col_scale;
}

const struct epilogue *rule_epilogue(const struct pass *pass, const struct step *head,
                                     struct epilogue *epilogue) {
  const struct step *step = fused(pass, head, FUSE_EPILOGUE);
  if (!step) return NULL;
  if (step->kind == STEP_EPILOGUE)
    *epilogue = rule_epilogue_of(pass, step);
  else if (step->kind == STEP_DROPOUT)
    *epilogue = (struct epilogue){.z = tensor_in(pass, step, 0),
                                  .dropout = dropout_of_step(pass, step),
                                  .y = tensor_out(pass, step, 0)};
  else
    return NULL;
  return epilogue;
}

int run_dropout(const struct pass *pass, const struct step *step) {
  struct dropout dropout = dropout_of_step(pass, step);
  return op_dropout(pass->run->kernels, tensor_in(pass, step, 0), &dropout, tensor_out(pass, step, 0));
}

/* y = factor x (+ y) */
int run_add(const struct pass *pass, const struct step *step) {
  struct add add = {.x = tensor_in(pass, step, 0),
                    .factor = step->factor,
                    .accumulate = step->in[1] != NONE,
                    .y = tensor_out(pass, step, 0)};
  return op_add(pass->run->kernels, &add);
}

const struct column_moments *rule_moments(const struct pass *pass, const struct step *head,
                                          struct column_moments *moments) {
  const struct step *step = fused(pass, head, FUSE_MOMENTS);
  if (!step || !pass->training || head->again) return NULL;
  const struct norm_state *norm = &pass->program->norm[step->index.norm];
  *moments = (struct column_moments){.x = tensor_in(pass, step, 0),
                                     .sum = norm->own_sum ? norm->own_sum : norm->mean,
                                     .squares = norm->rstd};
  return moments;
}

/* Of the rows of z on all ranks; `found`: the product that made z has left its moments. */
static int batch_statistics(const struct pass *pass, const struct norm_state *norm, struct tensor z,
                            int found) {
  struct run *run = pass->run;
  int64_t real = dtype_bytes(run->kernels->real);
  struct batch_norm_stats stats = {.step = BATCH_NORM_RUNNING,
                                   .mean = norm->mean,
                                   .rstd = norm->rstd,
                                   .running_mean = norm->running,
                                   .running_var = (char *)norm->running + norm->cols * real,
                                   .own_sum = norm->own_sum,
                                   .cols = norm->cols,
                                   .rows = z.rows,
                                   .count = run->shard->global_nodes,
                                   .epsilon = 1e-5,
                                   .momentum = .1};
  struct column_moments moments = {
      .x = z, .sum = norm->own_sum ? norm->own_sum : norm->mean, .squares = norm->rstd};
  if (!pass->training) return op_batch_norm_stats(run->kernels, &stats);
  if (!found) TRY(op_column_moments(run->kernels, &moments));
  stats.step = BATCH_NORM_ALONE;
  if (run->comm->size == 1) return op_batch_norm_stats(run->kernels, &stats);
  TRY(device_copy(run->device, STREAM_COMPUTE, norm->mean, norm->own_sum, norm->cols * real));
  TRY(comm_allreduce(run->comm, norm->mean, norm->cols, run_number(run), REDUCE_SUM));
  stats.step = BATCH_NORM_MEAN;
  TRY(op_batch_norm_stats(run->kernels, &stats));
  TRY(comm_allreduce(run->comm, norm->rstd, norm->cols, run_number(run), REDUCE_SUM));
  stats.step = BATCH_NORM_VARIANCE;
  return op_batch_norm_stats(run->kernels, &stats);
}

int rule_keep_signs(const struct pass *pass, const struct step *step) {
  if (step->kind != STEP_EPILOGUE) step = fused(pass, step, FUSE_EPILOGUE);
  if (!pass->training || !step || step->kind != STEP_EPILOGUE || step->out[1] == NONE) return OK;
  const struct signs signs = {.x = tensor_out(pass, step, 0), .of = tensor_out(pass, step, 1)};
  return op_signs(pass->run->kernels, &signs);
}

int run_epilogue(const struct pass *pass, const struct step *step) {
  const struct program *p = pass->program;
  struct epilogue epilogue = rule_epilogue_of(pass, step);
  if (step->epilogue.norm == NORM_BATCH) {
    const struct step *writer = &p->step[p->value[step->in[0]].writer];
    TRY(batch_statistics(pass, &p->norm[step->index.norm], epilogue.z,
                         fused(pass, writer, FUSE_MOMENTS) != NULL));
  }
  return op_epilogue(pass->run->kernels, &epilogue);
}

/* The forward's arguments. What the backward does not read may have lost its memory to another value by now:
 * dy stands for it, which is no other value's. z may be a value that was computed again, or has come back. */
static struct rule_backward backward_of(const struct pass *pass, const struct step *step) {
  const struct program *p = pass->program;
  struct step of = p->step[step->of], *forward = &of;
  const struct tensor dy = tensor_in(pass, step, 0), read = tensor_in(pass, step, 1);
  const int signs = read.dtype == BITS, reads = read.data && !signs;
  const int in_place = p->value[forward->out[0]].place == forward->in[0];
  of.rows[TRAINING] = step->rows[TRAINING];
  struct rule_backward backward = {.forward = rule_epilogue_of(pass, forward)};
  backward.forward.loss = NULL;
  backward.forward.z = reads ? read : dy;
  backward.forward.y = reads && in_place ? read : dy;
  if (!reads) backward.forward.residual = (struct tensor){0};
  backward.op = (struct epilogue_backward){.dy = dy,
                                           .dz = tensor_out(pass, step, 0),
                                           .residual_grad = tensor_out(pass, step, 1),
                                           .signs = signs ? read : (struct tensor){0},
                                           .scale = rule_scale(pass, step),
                                           .shift_grad = rule_gradient(pass, forward->index.shift),
                                           .gain_grad = rule_gradient(pass, forward->index.gain),
                                           .bias_grad = rule_gradient(pass, forward->index.bias)};
  return backward;
}

/* Pointers into *backward, once it lies where it stays. */
static const struct epilogue_backward *link(const struct pass *pass, const struct step *step,
                                            struct rule_backward *backward) {
  const struct step *chained = fused(pass, step, FUSE_CHAINED_WGRAD);
  backward->op.forward = &backward->forward;
  if (chained) {
    backward->chained = rule_wgrad(pass, chained);
    backward->op.chained_wgrad = &backward->chained;
  }
  return &backward->op;
}

const struct epilogue_backward *rule_backward(const struct pass *pass, const struct step *head,
                                              struct rule_backward *backward) {
  const struct step *step = fused(pass, head, FUSE_EPILOGUE);
  if (!step || step->kind != STEP_EPILOGUE_BACKWARD) return NULL;
  *backward = backward_of(pass, step);
  return link(pass, step, backward);
}

/* dy is the message already: of all that is to be done the gradient of the bias is left. */
static int sum_message(const struct pass *pass, const struct step *step) {
  const struct column_sums bias = {.x = tensor_in(pass, step, 0),
                                   .divisor = rule_scale(pass, step),
                                   .out = rule_gradient(pass, pass->program->step[step->of].index.bias)};
  return bias.out ? op_column_sums(pass->run->kernels, &bias) : OK;
}

int run_epilogue_backward(const struct pass *pass, const struct step *step) {
  const struct program *p = pass->program;
  if (p->step[p->value[step->in[0]].writer].scale != NONE) return sum_message(pass, step);
  struct rule_backward backward = backward_of(pass, step);
  return op_epilogue_backward(pass->run->kernels, link(pass, step, &backward));
}
