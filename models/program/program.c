#include "models/program/program.h"

#include <assert.h>

#include "kernels/ops/attention.h"
#include "runtime/base/base.h"

const char *const step_name[STEP_KINDS] = {
    [STEP_LINEAR] = "linear",
    [STEP_DGRAD] = "dgrad",
    [STEP_WGRAD] = "wgrad",
    [STEP_MAP] = "map",
    [STEP_AGGREGATE] = "aggregate",
    [STEP_LOOP_GRAD] = "loop grad",
    [STEP_HYPEREDGE_GRAD] = "hyperedge grad",
    [STEP_ATTEND] = "attend",
    [STEP_ATTEND_BACKWARD] = "attend backward",
    [STEP_DYNAMIC] = "dynamic",
    [STEP_DYNAMIC_BACKWARD] = "dynamic backward",
    [STEP_COSINE] = "cosine",
    [STEP_COSINE_BACKWARD] = "cosine backward",
    [STEP_REDUCE] = "reduce",
    [STEP_REDUCE_BACKWARD] = "reduce backward",
    [STEP_READOUT] = "readout",
    [STEP_READOUT_BACKWARD] = "readout backward",
    [STEP_ADD] = "add",
    [STEP_OFFLOAD] = "offload",
    [STEP_FETCH] = "fetch",
    [STEP_ZERO] = "zero",
    [STEP_DROPOUT] = "dropout",
    [STEP_EPILOGUE] = "epilogue",
    [STEP_EPILOGUE_BACKWARD] = "epilogue backward",
    [STEP_NORM_BACKWARD] = "norm backward",
    [STEP_LOSS] = "loss",
};

void program_free(struct program *p) {
  free_all(p->value, p->step, p->norm);
  *p = (struct program){0};
}

/* Whether there is room for one more element of `size`. */
static int grows(struct program *p, void **list, int used, int *room, size_t size) {
  const int wanted = 2 * used + 16;
  if (p->code != OK || used < *room) return p->code == OK;
  p->code = memory_grow(list, used * (int64_t)size, wanted * (int64_t)size, "the steps of a model");
  if (p->code == OK) *room = wanted;
  return p->code == OK;
}

int program_value(struct program *p, struct value value) {
  if (!grows(p, (void **)&p->value, p->values, &p->room.values, sizeof *p->value)) return VALUE_FEATURES;
  if (value.stride == 0) value.stride = tensor_stride(value.dtype, value.cols);
  value.writer = NONE;
  for (int plan = 0; plan < PLANS; plan++) value.held[plan] = INT64_MAX;
  p->value[p->values] = value;
  return p->values++;
}

int program_norm(struct program *p, struct norm_state norm) {
  if (!grows(p, (void **)&p->norm, p->norms, &p->room.norms, sizeof *p->norm)) return NONE;
  p->norm[p->norms] = norm;
  return p->norms++;
}

void program_step(struct program *p, struct step step) {
  if (!grows(p, (void **)&p->step, p->steps, &p->room.steps, sizeof *p->step)) return;
  for (int i = 0; i < STEP_OUTS; i++)
    if (step.out[i] != NONE && p->value[step.out[i]].writer == NONE) p->value[step.out[i]].writer = p->steps;
  p->step[p->steps++] = step;
}

struct step step_of(enum step_kind kind, int layer) {
  struct step step = {.kind = kind,
                      .layer = layer,
                      .parameter = {NONE, NONE},
                      .of = NONE,
                      .head = NONE,
                      .scale = NONE,
                      .factor = 1,
                      .index = {NONE, NONE, NONE, NONE}};
  for (int plan = 0; plan < PLANS; plan++)
    step.rows[plan] = (struct step_rows){ALL_ROWS, ALL_ROWS, INT64_MAX, INT64_MAX};
  for (int i = 0; i < STEP_INS; i++) step.in[i] = NONE;
  for (int i = 0; i < STEP_OUTS; i++) step.out[i] = NONE;
  for (int i = 0; i < FUSIONS; i++) step.along[i] = NONE;
  return step;
}

int program_place(const struct program *p, int value) {
  while (p->value[value].place != NONE) value = p->value[value].place;
  return value;
}

static int step_reads(const struct step *step, int value) {
  for (int i = 0; i < STEP_INS; i++)
    if (step->in[i] == value) return 1;
  return 0;
}

int program_readers(const struct program *p, int value, int *first, int *last) {
  int readers = 0;
  for (int s = 0; s < p->steps; s++) {
    if (!step_reads(&p->step[s], value)) continue;
    if (first && readers == 0) *first = s;
    if (last) *last = s;
    readers++;
  }
  return readers;
}

int program_touches(const struct program *p, int step, int place) {
  const struct step *of = &p->step[step];
  for (int i = 0; i < STEP_INS; i++)
    if (of->in[i] != NONE && program_place(p, of->in[i]) == place) return 1;
  for (int i = 0; i < STEP_OUTS; i++)
    if (of->out[i] != NONE && program_place(p, of->out[i]) == place) return 1;
  return 0;
}

int program_head(const struct program *p, int step) {
  while (p->step[step].head != NONE) step = p->step[step].head;
  return step;
}

struct tensor program_tensor(const struct program *p, int value, enum value_plan plan) {
  return value == NONE ? (struct tensor){0} : p->value[value].tensor[plan];
}

int64_t program_statistics(const struct program *p) {
  int64_t count = 0;
  for (int i = 0; i < p->norms; i++) count += p->norm[i].statistics;
  return count;
}

static void find_writers(struct program *p) {
  for (int v = 0; v < p->values; v++) p->value[v].writer = NONE;
  for (int s = 0; s < p->steps; s++) {
    for (int i = 0; i < STEP_OUTS; i++) {
      int v = p->step[s].out[i];
      if (v != NONE && p->value[v].writer == NONE) p->value[v].writer = s;
    }
  }
}

static void follow(int *step, int at) {
  if (*step >= at) ++*step;
}

void program_insert(struct program *p, int at, struct step step) {
  program_step(p, step);
  if (p->code != OK) return;
  const struct step last = p->step[p->steps - 1];
  memmove(&p->step[at + 1], &p->step[at], (size_t)(p->steps - 1 - at) * sizeof *p->step);
  p->step[at] = last;
  for (int s = 0; s < p->steps; s++) {
    struct step *of = &p->step[s];
    int *named[] = {&of->of, &of->head, &of->scale};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) follow(named[i], at);
    for (int i = 0; i < FUSIONS; i++) follow(&of->along[i], at);
  }
  follow(&p->loss, at);
  follow(&p->chunk.first, at);
  if (p->chunk.behind > at) p->chunk.behind++;
  find_writers(p);
}

void program_move(struct program *p, int from, int at) {
  for (; p->code == OK && from < p->steps; from++, at++) {
    const struct step step = p->step[from];
    memmove(&p->step[at + 1], &p->step[at], (size_t)(from - at) * sizeof *p->step);
    p->step[at] = step;
  }
  find_writers(p);
}

void program_compact(struct program *p) {
  int kept = 0;
  for (int s = 0; s < p->steps; s++)
    if (p->step[s].kind != STEP_KINDS) p->step[kept++] = p->step[s];
  p->steps = kept;
  find_writers(p);
}

int program_input_is_constant(const struct run *run) {
  return !run->shard->sparse && run->config->runtime.once && run->config->model.dropout_input == 0;
}

int program_is_of_features(const struct program *p, int value) {
  const int writer = value == NONE ? NONE : p->value[value].writer;
  const struct step *step = writer == NONE ? NULL : &p->step[writer];
  if (!step) return value == VALUE_FEATURES;
  return step->kind == STEP_AGGREGATE && step->in[1] == NONE && step->in[2] == NONE &&
         step->parameter[0] == NONE && program_is_of_features(p, step->in[0]);
}

int program_passes_by(const struct program *p, int value) {
  int reader = NONE;
  const int writer = p->value[value].writer;
  return writer != NONE && p->step[writer].aggregation.once &&
         program_readers(p, value, &reader, NULL) == 1 && p->step[reader].aggregation.once;
}

int64_t program_widest_sum(const struct program *p) {
  int64_t width = 1;
  for (int s = 0; s < p->steps; s++) width = larger(width, step_summed_cols(&p->step[s]));
  return width;
}

int program_attends_by_terms(const struct program *p) {
  int attends = 0, by_terms = 0;
  for (int s = 0; s < p->steps; s++) {
    attends += step_attends(p->step[s].kind);
    by_terms += p->step[s].kind == STEP_ATTEND;
  }
  return by_terms > 0 && by_terms == attends;
}

struct arc_scores program_scores_in_tiles(const struct program *p, const struct run *run) {
  const struct kernels *k = run->kernels;
  const struct arc_scores none = {0};
  struct arc_scores most = none;
  if (run->config->model.dropout_attention > 0) return none;
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    const int64_t cols = step_summed_cols(step);
    if (!step_attends(step->kind)) continue;
    if (step->kind == STEP_ATTEND && attention_takes_tiles(k, cols, step->heads))
      most.heads = larger(most.heads, step->heads);
    else if (step->kind == STEP_COSINE && cosine_takes_tiles(k, cols))
      most = (struct arc_scores){.heads = 1, .cosines = 1};
    else
      return none;
  }
  return most;
}
