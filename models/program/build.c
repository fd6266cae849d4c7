#include "models/program/build.h"

#include "runtime/base/base.h"

int64_t build_cols(const struct build *b, int value) {
  return b->program->value[value].cols;
}

int build_parameter(struct build *b, const char *what, int64_t rows, int64_t cols, enum start start) {
  char name[48];
  int index = 0, *code = &b->program->code;
  snprintf(name, sizeof name, "layer%d.%s", b->layer, what);
  if (*code == OK) *code = parameters_add(b->parameters, b->run, name, rows, cols, start, &index);
  return index;
}

int build_weight(struct build *b, const char *what, int64_t rows, int64_t cols) {
  return build_parameter(b, what, rows, cols, START_GLOROT);
}

struct step build_epilogue_parameters(struct build *b, int64_t cols, struct layer_epilogue form) {
  struct step step = step_of(STEP_EPILOGUE, b->layer);
  struct norm_state norm = {.layer = b->layer, .cols = cols, .norm = form.norm};
  step.epilogue = form;
  if (form.norm == NORM_BATCH) norm.statistics = 2 * cols;
  if (form.bias && form.norm != NORM_BATCH) step.index.bias = build_parameter(b, "bias", 1, cols, START_ZERO);
  if (form.norm == NORM_NONE) return step;
  step.index.gain = build_parameter(b, "gain", 1, cols, START_ONE);
  step.index.shift = build_parameter(b, "shift", 1, cols, START_ZERO);
  step.index.norm = program_norm(b->program, norm);
  return step;
}

static int add_value(struct build *b, const char *what, struct value value) {
  value.layer = b->layer;
  snprintf(value.name, sizeof value.name, "%s%d", what, b->layer);
  return program_value(b->program, value);
}

int build_value(struct build *b, const char *what, int64_t cols, int real) {
  const struct kernels *k = b->run->kernels;
  return add_value(b, what,
                   (struct value){.dtype = real ? k->real : k->dtype,
                                  .rows = b->run->shard->own,
                                  .cols = cols,
                                  .place = NONE,
                                  .gradient = NONE,
                                  .trained = 1});
}

int build_view(struct build *b, const char *what, int value, int64_t first, int64_t cols) {
  struct value view = b->program->value[value];
  view.place = value;
  view.gradient = NONE;
  view.first = first;
  view.cols = cols;
  view.trained = 1;
  return add_value(b, what, view);
}

int build_in_place(struct build *b, const char *what, int value) {
  return build_view(b, what, value, 0, build_cols(b, value));
}

void build_step(struct build *b, struct step step) {
  program_step(b->program, step);
}

static int64_t width_of(const struct build *b, int weight) {
  return b->program->code == OK ? b->parameters->list[weight].cols : 1;
}

int build_linear(struct build *b, int x, int weight) {
  struct step step = step_of(STEP_LINEAR, b->layer);
  step.in[0] = x;
  step.parameter[0] = weight;
  step.out[0] = build_value(b, "product", width_of(b, weight), 0);
  build_step(b, step);
  return step.out[0];
}

int build_two_linears(struct build *b, int x, int weight, int x2, int weight2) {
  const struct kernels *k = b->run->kernels;
  struct step step = step_of(STEP_LINEAR, b->layer);
  step.in[0] = x;
  step.in[1] = x2;
  step.parameter[0] = weight;
  step.parameter[1] = weight2;
  step.out[0] = build_value(b, "z", width_of(b, weight), 0);
  if (x2 == VALUE_FEATURES && b->run->shard->sparse && k->dtype != k->real && !b->last)
    step.out[1] = build_value(b, "sum", width_of(b, weight), 1);
  build_step(b, step);
  return step.out[0];
}

struct step build_aggregate_step(struct build *b, int x, int added) {
  struct step step = step_of(STEP_AGGREGATE, b->layer);
  step.in[0] = x;
  step.in[1] = added;
  step.exchange = build_cols(b, x);
  step.out[0] = build_value(b, "z", build_cols(b, x), 0);
  return step;
}

int build_aggregate(struct build *b, int x, int added) {
  struct step step = build_aggregate_step(b, x, added);
  build_step(b, step);
  return step.out[0];
}

/* In place where nothing reads z any more: the epilogue's backward works from y then. Attention's reads its
 * own output. */
static int works_in_place(const struct program *p, const struct step *step) {
  const struct step *writer = &p->step[p->value[step->in[0]].writer];
  const int kept = step_attends(writer->kind) && writer->out[0] == step->in[0];
  return step->epilogue.norm == NORM_NONE && step->in[1] == NONE && !kept;
}

void build_widen(struct build *b, int value) {
  struct value *z = &b->program->value[value];
  if (b->program->code != OK) return;
  z->dtype = b->run->kernels->real;
  z->stride = tensor_stride(z->dtype, z->cols);
}

/* Weight decay of the first layer alone ends behind it. */
static void end_layer(struct build *b) {
  struct parameters *parameters = b->parameters;
  if (b->layer < b->first_layers || !b->run->config->train.weight_decay_first_only)
    parameters->decay_end = parameters->count;
  b->layer++;
}

void build_epilogue(struct build *b, int z, struct step step) {
  struct program *p = b->program;
  if (p->code != OK) return;
  if (b->last) build_widen(b, z);
  step.in[0] = z;
  if (step.epilogue.residual && b->layer > 0 && build_cols(b, b->x) == build_cols(b, z)) step.in[1] = b->x;
  step.out[0] = works_in_place(p, &step) ? build_in_place(b, "y", z)
                                         : build_value(b, "y", build_cols(b, z), b->last);
  build_step(b, step);
  if (!b->last) p->embedding = step.out[0];
  if (p->code == OK) p->value[step.out[0]].ends_layer = !b->last && !b->inside;
  p->logits = b->x = step.out[0];
  end_layer(b);
}

void build_linear_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  build_epilogue(b, build_linear(b, b->x, weight), epilogue);
}

struct layer_epilogue build_hidden(const struct run *run) {
  const struct config *config = run->config;
  return (struct layer_epilogue){.bias = config->model.bias,
                                 .residual = config->model.residual,
                                 .norm = config->model.norm,
                                 .activation = config->model.activation,
                                 .dropout = config->model.dropout};
}

struct layer_epilogue build_last(const struct run *run) {
  return (struct layer_epilogue){
      .bias = run->config->model.bias, .norm = NORM_NONE, .activation = ACTIVATION_NONE};
}
