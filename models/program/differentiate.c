/* differentiate: the backward list from the forward one, in reverse (A. Griewank and A. Walther, Evaluating
 * Derivatives, 2008), by a rule for each kind of step. A value that several steps read gets a part of its
 * gradient from each; a step that can add takes along what there is, or leaves two parts for an aggregation,
 * which adds both. Invariant: each trained value's gradient is complete before the backward of the step that
 * wrote it. */
#include <assert.h>

#include "kernels/ops/attention.h"
#include "models/program/program.h"
#include "runtime/base/base.h"

enum { PARTS = 2 };

struct gradient {
  int part[PARTS]; /* values */
  int parts;
};

struct differentiation {
  struct program *p;
  const struct run *run;
  struct gradient *of; /* [values of the forward] */
};

static int add_value(struct differentiation *d, struct value value, const char *what, int of) {
  value.gradient = NONE;
  snprintf(value.name, sizeof value.name, "%.20s %.24s", what, d->p->value[of].name);
  return program_value(d->p, value);
}

/* A matrix of the gradient's type beside that of a value. */
static int matrix(struct differentiation *d, const char *what, int of, int64_t cols, int real) {
  struct value value = {.dtype = real ? d->run->kernels->real : d->run->kernels->dtype,
                        .rows = d->p->value[of].rows,
                        .cols = cols,
                        .layer = d->p->value[of].layer,
                        .place = NONE};
  return add_value(d, value, what, of);
}

static int gradient_of(struct differentiation *d, int value) {
  const int at = d->p->value[value].gradient;
  return at != NONE ? at : matrix(d, "grad", value, d->p->value[value].cols, 0);
}

/* The same memory as another value has. */
static int in_place(struct differentiation *d, int place) {
  struct value value = d->p->value[place];
  value.place = place;
  value.first = 0;
  return program_value(d->p, value);
}

static struct step backward_of(const struct differentiation *d, int s, enum step_kind kind) {
  struct step step = step_of(kind, d->p->step[s].layer);
  step.of = s;
  return step;
}

static int is_trained(const struct differentiation *d, int value) {
  return value != NONE && d->p->value[value].trained;
}

static void add_part(struct differentiation *d, int value, int part) {
  struct gradient *gradient = &d->of[value];
  assert(gradient->parts < PARTS);
  gradient->part[gradient->parts++] = part;
}

/* Takes the only part that there is, or NONE. */
static int take_part(struct differentiation *d, int value) {
  struct gradient *gradient = &d->of[value];
  assert(gradient->parts <= 1);
  if (gradient->parts == 0) return NONE;
  gradient->parts = 0;
  return gradient->part[0];
}

/* Whether what adds the last part of a value's gradient is an aggregation that adds other parts, too. */
static int adds_up_later(const struct differentiation *d, int value, int s) {
  int first = NONE;
  program_readers(d->p, value, &first, NULL);
  return first != s && d->p->step[first].kind == STEP_AGGREGATE && !d->p->on_hypergraph &&
         d->of[value].parts < PARTS;
}

static int is_of_residual(const struct program *p, int part) {
  const struct step *writer = &p->step[p->value[part].writer];
  return writer->kind == STEP_EPILOGUE_BACKWARD && writer->out[1] == part;
}

static void weight_gradient(struct differentiation *d, int s, int i, int dy) {
  struct step step = backward_of(d, s, STEP_WGRAD);
  const struct step *linear = &d->p->step[s];
  step.in[0] = linear->in[i];
  step.in[1] = dy;
  step.parameter[0] = linear->parameter[i];
  step.factor = linear->factor;
  program_step(d->p, step);
}

static void input_gradient(struct differentiation *d, int s, int i, int dy) {
  struct step step = backward_of(d, s, STEP_DGRAD);
  const struct step *linear = &d->p->step[s];
  const int x = linear->in[i];
  if (!is_trained(d, x)) return;
  step.in[0] = dy;
  step.in[2] = linear->in[2];
  step.parameter[0] = linear->parameter[i];
  if (!adds_up_later(d, x, s)) step.in[1] = take_part(d, x);
  step.out[0] = step.in[1] == NONE ? gradient_of(d, x) : in_place(d, step.in[1]);
  program_step(d->p, step);
  add_part(d, x, step.out[0]);
}

static void differentiate_linear(struct differentiation *d, int s, int dy) {
  weight_gradient(d, s, 0, dy);
  if (d->p->step[s].in[1] != NONE) weight_gradient(d, s, 1, dy);
  input_gradient(d, s, 0, dy);
  if (d->p->step[s].in[1] != NONE) input_gradient(d, s, 1, dy);
}

/* Of what P depends on; `back` is the aggregation of the gradient. */
static void parameter_gradient_of(struct differentiation *d, int s, int dy, const struct step *back) {
  const struct step *forward = &d->p->step[s];
  struct step step = backward_of(d, s, forward->out[1] == NONE ? STEP_LOOP_GRAD : STEP_HYPEREDGE_GRAD);
  step.parameter[0] = forward->parameter[0];
  step.in[0] = forward->out[1] == NONE ? dy : forward->out[1];
  step.in[1] = forward->out[1] == NONE ? forward->in[0] : back->out[1];
  program_step(d->p, step);
}

/* What was added behind P gets the gradient as it is: to be summed where it was added several times. */
static void added_gradient(struct differentiation *d, int s, int value, int dy) {
  struct step step = backward_of(d, s, STEP_ADD);
  if (!is_trained(d, value)) return;
  if (program_readers(d->p, value, NULL, NULL) == 1) {
    add_part(d, value, dy);
    return;
  }
  step.in[0] = dy;
  step.in[1] = take_part(d, value);
  step.out[0] = step.in[1] == NONE ? matrix(d, "grad", value, d->p->value[value].cols, 1)
                                   : in_place(d, step.in[1]);
  program_step(d->p, step);
  add_part(d, value, step.out[0]);
}

/* dx = P^T dy and the parts of dx that there are. */
static void differentiate_aggregate(struct differentiation *d, int s, int dy) {
  const struct step forward = d->p->step[s];
  struct step step = backward_of(d, s, STEP_AGGREGATE);
  added_gradient(d, s, forward.in[1], dy);
  added_gradient(d, s, forward.in[2], dy);
  if (!is_trained(d, forward.in[0])) return;
  struct gradient *gradient = &d->of[forward.in[0]];
  step.aggregation.transposed = 1;
  step.in[0] = dy;
  step.parameter[0] = forward.parameter[0];
  step.exchange = forward.exchange;
  for (int i = 0; i < gradient->parts; i++) {
    const int residual = is_of_residual(d->p, gradient->part[i]) || d->p->on_hypergraph;
    assert(step.in[1 + residual] == NONE);
    step.in[1 + residual] = gradient->part[i];
  }
  gradient->parts = 0;
  step.out[0] = gradient_of(d, forward.in[0]);
  if (forward.out[1] != NONE)
    step.out[1] = matrix(d, "grad", forward.out[1], d->p->value[forward.out[1]].cols, 0);
  if (forward.parameter[0] != NONE && forward.out[1] == NONE) parameter_gradient_of(d, s, dy, &step);
  program_step(d->p, step);
  if (forward.out[1] != NONE) parameter_gradient_of(d, s, dy, &step);
  add_part(d, forward.in[0], step.out[0]);
}

static void differentiate_epilogue(struct differentiation *d, int s, int dy) {
  const struct step forward = d->p->step[s];
  struct step step = backward_of(d, s, STEP_EPILOGUE_BACKWARD);
  const int z = forward.in[0], y = forward.out[0], residual = forward.in[1];
  const int reads = forward.epilogue.norm != NORM_NONE || forward.epilogue.activation != ACTIVATION_NONE;
  step.in[0] = dy;
  if (reads) step.in[1] = d->p->value[y].place == z ? y : z;
  step.out[0] = in_place(d, dy);
  if (is_trained(d, residual)) {
    step.out[1] = matrix(d, "grad", residual, d->p->value[residual].cols, 0);
    add_part(d, residual, step.out[1]);
  }
  program_step(d->p, step);
  int dz = step.out[0];
  if (forward.epilogue.norm == NORM_BATCH) {
    struct step norm = backward_of(d, s, STEP_NORM_BACKWARD);
    norm.in[0] = dz;
    norm.in[1] = z;
    norm.out[0] = in_place(d, dz);
    program_step(d->p, norm);
    dz = norm.out[0];
  }
  add_part(d, z, dz);
}

/* dx = factor dy, or that much more. */
static void differentiate_add(struct differentiation *d, int s, int dy) {
  struct step step = backward_of(d, s, STEP_ADD);
  const int x = d->p->step[s].in[0];
  step.factor = d->p->step[s].factor;
  step.in[0] = dy;
  step.in[1] = take_part(d, x);
  step.out[0] = step.in[1] == NONE ? gradient_of(d, x) : in_place(d, step.in[1]);
  program_step(d->p, step);
  add_part(d, x, step.out[0]);
}

static void differentiate_dropout(struct differentiation *d, int s, int dy) {
  struct step step = backward_of(d, s, STEP_DROPOUT);
  const int x = d->p->step[s].in[0];
  step.epilogue.dropout = d->p->step[s].epilogue.dropout;
  step.in[0] = dy;
  step.out[0] = in_place(d, dy);
  program_step(d->p, step);
  add_part(d, x, step.out[0]);
}

/* d(x W) and, on their way, messages to the columns of a row and gradients of both terms: see rules/attend.c.
 */
static void differentiate_attend(struct differentiation *d, int s, int dz) {
  const struct step forward = d->p->step[s];
  const struct kernels *k = d->run->kernels;
  struct step step = backward_of(d, s, STEP_ATTEND_BACKWARD);
  const int y = forward.out[0], product = forward.in[1];
  const int64_t width = d->p->value[y].cols, out = d->p->value[dz].cols;
  const int ins[] = {dz, forward.in[0], forward.out[2], forward.out[3], forward.out[4], forward.out[5], y};
  for (int i = 0; i < 7; i++) step.in[i] = ins[i];
  step.heads = forward.heads;
  step.width = forward.width;
  step.parameter[0] = forward.parameter[0];
  step.parameter[1] = forward.parameter[1];
  step.exchange = attention_message_cols(k, out, forward.heads);
  step.out[0] = gradient_of(d, product);
  step.out[1] = matrix(d, "message", y, step.exchange, 0);
  step.out[2] = matrix(d, "left", y, forward.heads, 1);
  step.out[3] = matrix(d, "right", y, forward.heads, 1);
  if (d->run->comm->size > 1 && k->dtype != k->real) step.out[4] = matrix(d, "sums", y, width, 1);
  program_step(d->p, step);
  add_part(d, product, step.out[0]);
}

/* The same with dynamic scores, for both products: see rules/dynamic.c. */
static void differentiate_dynamic(struct differentiation *d, int s, int dz) {
  const struct step forward = d->p->step[s];
  const struct kernels *k = d->run->kernels;
  struct step step = backward_of(d, s, STEP_DYNAMIC_BACKWARD);
  const int x = forward.in[0], right = forward.in[1], y = forward.out[0];
  const int64_t width = d->p->value[y].cols, out = d->p->value[dz].cols;
  const int ins[] = {dz, x, right, forward.out[2], y};
  for (int i = 0; i < 5; i++) step.in[i] = ins[i];
  step.heads = forward.heads;
  step.width = forward.width;
  step.parameter[0] = forward.parameter[0];
  step.exchange = dynamic_message_cols(k, out, width, forward.heads);
  step.out[0] = gradient_of(d, x);
  step.out[1] = gradient_of(d, right);
  step.out[2] = matrix(d, "message", y, step.exchange, 0);
  step.out[3] = matrix(d, "products", y, width, 1);
  if (d->run->comm->size > 1 && k->dtype != k->real) step.out[4] = matrix(d, "sums", y, width, 1);
  program_step(d->p, step);
  add_part(d, x, step.out[0]);
  add_part(d, right, step.out[1]);
}

/* The same for attention by cosines, straight to dx: see rules/cosine.c. */
static void differentiate_cosine(struct differentiation *d, int s, int dz) {
  const struct step forward = d->p->step[s];
  struct step step = backward_of(d, s, STEP_COSINE_BACKWARD);
  const int x = forward.in[0], y = forward.out[0];
  const int64_t width = d->p->value[y].cols;
  const int adds = d->run->comm->size > 1 || d->run->shard->directed || d->run->shard->levels.count > 0;
  const int ins[] = {dz, x, y, forward.out[1]};
  for (int i = 0; i < 4; i++) step.in[i] = ins[i];
  step.in[4] = take_part(d, x);
  step.parameter[0] = forward.parameter[0];
  step.heads = forward.heads;
  step.width = forward.width;
  step.exchange = cosine_message_cols(d->run->kernels, width, 1);
  step.fixed = forward.fixed;
  step.out[0] = gradient_of(d, x);
  step.out[1] = matrix(d, "message", y, step.exchange, 0);
  step.out[2] = matrix(d, "dx", y, width, adds);
  step.out[3] = matrix(d, "dn", y, width, adds);
  step.out[4] = matrix(d, "beta", y, 1, 1);
  program_step(d->p, step);
  add_part(d, x, step.out[0]);
}

/* dy lies in the message already, see value.gradient. */
static void differentiate_reduce(struct differentiation *d, int s, int dy) {
  const struct step forward = d->p->step[s];
  struct step step = backward_of(d, s, STEP_REDUCE_BACKWARD);
  step.in[0] = dy;
  step.in[1] = forward.out[1];
  step.exchange = forward.exchange;
  step.out[0] = gradient_of(d, forward.in[0]);
  program_step(d->p, step);
  add_part(d, forward.in[0], step.out[0]);
}

static void differentiate_readout(struct differentiation *d, int s, int dy) {
  const struct step forward = d->p->step[s];
  struct step step = backward_of(d, s, STEP_READOUT_BACKWARD);
  if (!is_trained(d, forward.in[0])) return;
  step.in[0] = dy;
  step.in[1] = forward.out[1];
  step.in[2] = take_part(d, forward.in[0]);
  step.out[0] = gradient_of(d, forward.in[0]);
  program_step(d->p, step);
  add_part(d, forward.in[0], step.out[0]);
}

static void differentiate_step(struct differentiation *d, int s) {
  static void (*const rules[STEP_KINDS])(struct differentiation *, int, int) = {
      [STEP_LINEAR] = differentiate_linear,   [STEP_AGGREGATE] = differentiate_aggregate,
      [STEP_ATTEND] = differentiate_attend,   [STEP_COSINE] = differentiate_cosine,
      [STEP_DYNAMIC] = differentiate_dynamic, [STEP_REDUCE] = differentiate_reduce,
      [STEP_READOUT] = differentiate_readout, [STEP_ADD] = differentiate_add,
      [STEP_DROPOUT] = differentiate_dropout, [STEP_EPILOGUE] = differentiate_epilogue,
  };
  const struct step *step = &d->p->step[s];
  for (int i = 0; i < STEP_OUTS && d->p->code == OK; i++) {
    if (step->out[i] == NONE || d->of[step->out[i]].parts == 0) continue;
    rules[step->kind](d, s, take_part(d, step->out[i]));
    return;
  }
}

static void mark_trained(struct program *p) {
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    int trained = step->parameter[0] != NONE || step->index.bias != NONE || step->index.gain != NONE;
    for (int i = 0; i < STEP_INS; i++) trained |= step->in[i] != NONE && p->value[step->in[i]].trained;
    for (int i = 0; i < STEP_OUTS; i++)
      if (step->out[i] != NONE) p->value[step->out[i]].trained = trained;
  }
}

int differentiate(struct program *p, const struct run *run) {
  FREED struct gradient *of = NULL;
  struct step loss = step_of(STEP_LOSS, p->layers - 1);
  const int forward = p->steps;
  mark_trained(p);
  TRY(memory_arrays("the steps of a model", ROOM(&of, p->values + 1)));
  struct differentiation d = {p, run, of};
  loss.in[0] = p->logits;
  loss.out[0] = gradient_of(&d, p->logits);
  program_step(p, loss);
  p->loss = forward;
  add_part(&d, p->logits, loss.out[0]);
  for (int s = forward - 1; s >= 0; s--) differentiate_step(&d, s);
  return p->code;
}
